// Packets of the binary protocol, right and wrong, as a test wants them.
#ifndef MCSCOPE_TESTS_SUPPORT_BINARY_PACKET_H_
#define MCSCOPE_TESTS_SUPPORT_BINARY_PACKET_H_

#include <cstdint>
#include <optional>
#include <string>

namespace mcscope::test {

struct BinaryPacket {
  uint8_t magic = 0x80;  // a request; 0x81: a reply
  uint8_t opcode = 0;
  uint16_t status = 0;  // of a reply; a request's vbucket
  uint32_t opaque = 0;
  uint64_t cas = 0;
  std::string extras, key, value;
  // What the header claims of them, where it lies.
  std::optional<uint16_t> key_size;
  std::optional<uint8_t> extras_size;
  std::optional<uint32_t> body_size;

  std::string Bytes() const;
};

// The opcodes that tests name.
enum Opcode : uint8_t {
  kOpGet = 0x00,
  kOpSet = 0x01,
  kOpAdd = 0x02,
  kOpReplace = 0x03,
  kOpDelete = 0x04,
  kOpIncrement = 0x05,
  kOpDecrement = 0x06,
  kOpQuit = 0x07,
  kOpFlush = 0x08,
  kOpGetQ = 0x09,
  kOpNoop = 0x0a,
  kOpVersion = 0x0b,
  kOpGetK = 0x0c,
  kOpGetKQ = 0x0d,
  kOpAppend = 0x0e,
  kOpPrepend = 0x0f,
  kOpStat = 0x10,
  kOpSetQ = 0x11,
  kOpAddQ = 0x12,
  kOpReplaceQ = 0x13,
  kOpDeleteQ = 0x14,
  kOpIncrementQ = 0x15,
  kOpDecrementQ = 0x16,
  kOpQuitQ = 0x17,
  kOpFlushQ = 0x18,
  kOpAppendQ = 0x19,
  kOpPrependQ = 0x1a,
  kOpVerbosity = 0x1b,
  kOpTouch = 0x1c,
  kOpGat = 0x1d,
  kOpGatQ = 0x1e,
  kOpSaslList = 0x20,
  kOpSaslAuth = 0x21,
  kOpSaslStep = 0x22,
  kOpGatK = 0x23,
  kOpGatKQ = 0x24,
};

// Well-formed requests: `key` and `value` where the opcode takes them, extras of zeros.
std::string Binary(uint8_t opcode, const std::string& key = "", const std::string& value = "",
                   uint32_t opaque = 0);
// As many bytes of extras as the opcode takes (a flush: none).
size_t BinaryExtras(uint8_t opcode);

// `number` in network order, in `size` bytes.
std::string BigEndian(uint64_t number, int size);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_BINARY_PACKET_H_
