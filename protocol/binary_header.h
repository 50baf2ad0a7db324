// What requests and replies of the binary protocol share: their header, the body behind it as it
// passes by, and the table of the opcodes of memcached 1.6.
//
// Owner of the readers: a framer. Used by one thread.
#ifndef MCSCOPE_PROTOCOL_BINARY_HEADER_H_
#define MCSCOPE_PROTOCOL_BINARY_HEADER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "protocol/command.h"
#include "protocol/tokenizer.h"

namespace mcscope::protocol {

inline constexpr unsigned char kBinaryRequestMagic = 0x80;
inline constexpr unsigned char kBinaryReplyMagic = 0x81;

// The fields that matter here. Sizes are in bytes.
struct BinaryHeader {
  static constexpr size_t kSize = 24;

  uint8_t opcode = 0;
  uint8_t extras_size = 0;
  uint16_t key_size = 0;
  uint16_t status = 0;     // of a reply
  uint32_t body_size = 0;  // extras, key and value together; only claimed, so it may be too small
  uint32_t opaque = 0;
  bool has_cas = false;

  // What the body holds at least, whatever it claims.
  uint32_t head_size() const { return uint32_t{extras_size} + key_size; }
};

// Collects a header that may come in pieces; the magic byte is the caller's to judge.
class BinaryHeaderReader {
 public:
  // Takes what belongs to the header from `window`, whose first `*used` bytes are taken already.
  // Yields the header once it is whole, and is ready for the next one then.
  std::optional<BinaryHeader> Take(absl::string_view window, size_t* used);

 private:
  // The bytes so far of a header cut in its midst; else null.
  std::unique_ptr<std::array<char, BinaryHeader::kSize>> bytes_;
  uint8_t taken_ = 0;
};

// A body as it passes by in pieces. It keeps none of the bytes, but can hash the key among them.
class BinaryBody {
 public:
  BinaryBody() = default;
  BinaryBody(const BinaryHeader& header, uint64_t size, bool hashes_key)
      : missing_(size),
        key_missing_(hashes_key ? header.key_size : uint16_t{0}),
        extras_missing_(header.extras_size),
        has_key_(key_missing_ > 0) {}

  // Takes what belongs to the body from the front of `window`; returns how many bytes.
  size_t Take(absl::string_view window);

  uint64_t missing() const { return missing_; }

  // Once nothing is missing: of the key, if it was to be hashed and there is one; else 0.
  uint32_t key_hash() const { return has_key_ ? key_hash_.value() : 0; }

 private:
  uint64_t missing_ = 0;
  TokenHash key_hash_;
  uint16_t key_missing_ = 0;
  uint8_t extras_missing_ = 0;
  bool has_key_ = false;
};

// What may stand behind an opcode's header.
enum class BinaryShape : uint8_t {
  kUnknown,  // no opcode of memcached's
  kBare,     // nothing
  kFlush,    // perhaps a time
  kKey,      // a key
  kTouch,    // a time and a key
  kCounter,  // delta, initial value and time, and a key
  kStat,     // perhaps a key
  kStore,    // flags and time, a key, a value
  kConcat,   // a key, a value
  kAuth,     // a key (the mechanism), a value
};

struct BinaryOpcode {
  Command command = Command::kOther;
  BinaryShape shape = BinaryShape::kUnknown;
  bool quiet = false;        // only some outcomes are answered
  bool returns_key = false;  // replies (but errors) repeat the key
};

BinaryOpcode FindOpcode(uint8_t opcode);

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_BINARY_HEADER_H_
