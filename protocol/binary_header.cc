#include "protocol/binary_header.h"

#include <algorithm>
#include <cstring>

namespace mcscope::protocol {
namespace {

constexpr bool kQuiet = true;
constexpr bool kReturnsKey = true;

// A row's place is its opcode.
constexpr std::array<BinaryOpcode, 0x25> kOpcodes = {{
    {Command::kGet, BinaryShape::kKey},
    {Command::kSet, BinaryShape::kStore},
    {Command::kAdd, BinaryShape::kStore},
    {Command::kReplace, BinaryShape::kStore},
    {Command::kDelete, BinaryShape::kKey},
    {Command::kIncr, BinaryShape::kCounter},
    {Command::kDecr, BinaryShape::kCounter},
    {Command::kQuit, BinaryShape::kBare},
    {Command::kFlushAll, BinaryShape::kFlush},
    {Command::kGet, BinaryShape::kKey, kQuiet},
    {Command::kNoop, BinaryShape::kBare},  // 0x0a
    {Command::kVersion, BinaryShape::kBare},
    {Command::kGet, BinaryShape::kKey, !kQuiet, kReturnsKey},
    {Command::kGet, BinaryShape::kKey, kQuiet, kReturnsKey},
    {Command::kAppend, BinaryShape::kConcat},
    {Command::kPrepend, BinaryShape::kConcat},
    {Command::kStats, BinaryShape::kStat},  // 0x10
    {Command::kSet, BinaryShape::kStore, kQuiet},
    {Command::kAdd, BinaryShape::kStore, kQuiet},
    {Command::kReplace, BinaryShape::kStore, kQuiet},
    {Command::kDelete, BinaryShape::kKey, kQuiet},
    {Command::kIncr, BinaryShape::kCounter, kQuiet},
    {Command::kDecr, BinaryShape::kCounter, kQuiet},
    {Command::kQuit, BinaryShape::kBare, kQuiet},
    {Command::kFlushAll, BinaryShape::kFlush, kQuiet},
    {Command::kAppend, BinaryShape::kConcat, kQuiet},
    {Command::kPrepend, BinaryShape::kConcat, kQuiet},
    {},  // 0x1b: verbosity, which memcached never learned
    {Command::kTouch, BinaryShape::kTouch},
    {Command::kGat, BinaryShape::kTouch},
    {Command::kGat, BinaryShape::kTouch, kQuiet},
    {},
    {Command::kSasl, BinaryShape::kBare},  // 0x20: list the mechanisms
    {Command::kSasl, BinaryShape::kAuth},
    {Command::kSasl, BinaryShape::kAuth},
    {Command::kGat, BinaryShape::kTouch, !kQuiet, kReturnsKey},
    {Command::kGat, BinaryShape::kTouch, kQuiet, kReturnsKey},
}};

uint32_t BigEndian(const char* bytes, int count) {
  uint32_t number = 0;
  for (int i = 0; i < count; ++i) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

BinaryHeader Read(const char* bytes) {
  BinaryHeader header;
  header.opcode = static_cast<uint8_t>(bytes[1]);
  header.key_size = static_cast<uint16_t>(BigEndian(bytes + 2, 2));
  header.extras_size = static_cast<uint8_t>(bytes[4]);
  header.status = static_cast<uint16_t>(BigEndian(bytes + 6, 2));
  header.body_size = BigEndian(bytes + 8, 4);
  header.opaque = BigEndian(bytes + 12, 4);
  header.has_cas = (BigEndian(bytes + 16, 4) | BigEndian(bytes + 20, 4)) != 0;
  return header;
}

}  // namespace

std::optional<BinaryHeader> BinaryHeaderReader::Take(absl::string_view window, size_t* used) {
  const absl::string_view rest = window.substr(*used);
  if (bytes_ == nullptr) {
    if (rest.size() >= BinaryHeader::kSize) {
      *used += BinaryHeader::kSize;
      return Read(rest.data());
    }
    bytes_ = std::make_unique<std::array<char, BinaryHeader::kSize>>();
    taken_ = 0;
  }
  const size_t size = std::min(rest.size(), BinaryHeader::kSize - taken_);
  std::memcpy(bytes_->data() + taken_, rest.data(), size);
  taken_ = static_cast<uint8_t>(taken_ + size);
  *used += size;
  if (taken_ < BinaryHeader::kSize) return std::nullopt;
  const BinaryHeader header = Read(bytes_->data());
  bytes_.reset();
  return header;
}

size_t BinaryBody::Take(absl::string_view window) {
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(missing_, window.size()));
  missing_ -= taken;
  if (key_missing_ == 0) return taken;
  absl::string_view rest = window.substr(0, taken);
  const size_t extras = std::min<size_t>(extras_missing_, rest.size());
  extras_missing_ = static_cast<uint8_t>(extras_missing_ - extras);
  const absl::string_view key = rest.substr(extras, key_missing_);
  key_missing_ = static_cast<uint16_t>(key_missing_ - key.size());
  key_hash_.Add(key);
  return taken;
}

BinaryOpcode FindOpcode(uint8_t opcode) {
  return opcode < kOpcodes.size() ? kOpcodes[opcode] : BinaryOpcode();
}

}  // namespace mcscope::protocol
