#include "tests/support/binary_packet.h"

#include "absl/strings/str_cat.h"

namespace mcscope::test {

std::string BigEndian(uint64_t number, int size) {
  std::string bytes;
  for (int i = size - 1; i >= 0; --i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

std::string BinaryPacket::Bytes() const {
  const uint64_t body = extras.size() + key.size() + value.size();
  return absl::StrCat(BigEndian(magic, 1), BigEndian(opcode, 1),
                      BigEndian(key_size.value_or(key.size()), 2),
                      BigEndian(extras_size.value_or(extras.size()), 1), BigEndian(0, 1),
                      BigEndian(status, 2), BigEndian(body_size.value_or(body), 4),
                      BigEndian(opaque, 4), BigEndian(cas, 8), extras, key, value);
}

size_t BinaryExtras(uint8_t opcode) {
  switch (opcode) {
    case kOpSet:
    case kOpAdd:
    case kOpReplace:
    case kOpSetQ:
    case kOpAddQ:
    case kOpReplaceQ:
      return 8;
    case kOpIncrement:
    case kOpDecrement:
    case kOpIncrementQ:
    case kOpDecrementQ:
      return 20;
    case kOpTouch:
    case kOpGat:
    case kOpGatQ:
    case kOpGatK:
    case kOpGatKQ:
      return 4;
    default:
      return 0;
  }
}

std::string Binary(uint8_t opcode, const std::string& key, const std::string& value,
                   uint32_t opaque) {
  BinaryPacket packet;
  packet.opcode = opcode;
  packet.opaque = opaque;
  packet.extras = std::string(BinaryExtras(opcode), '\0');
  packet.key = key;
  packet.value = value;
  return packet.Bytes();
}

}  // namespace mcscope::test
