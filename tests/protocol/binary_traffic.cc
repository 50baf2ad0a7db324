#include "tests/protocol/binary_traffic.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace mcscope::protocol {

using test::BinaryPacket;
using namespace test;  // NOLINT: the opcodes

// Seldom one that ends the connection, so that pipelines get somewhere.
uint8_t BinaryTraffic::Opcode() {
  static constexpr uint8_t kOften[] = {
      kOpGet,        kOpGetQ,       kOpGetQ,    kOpGetK,   kOpGetKQ,     kOpGetKQ, kOpSet,
      kOpSet,        kOpSetQ,       kOpSetQ,    kOpAdd,    kOpAddQ,      kOpAddQ,  kOpReplace,
      kOpReplaceQ,   kOpDelete,     kOpDeleteQ, kOpAppend, kOpAppendQ,   kOpGat,   kOpPrepend,
      kOpPrependQ,   kOpIncrement,  kOpTouch,   kOpGatQ,   kOpDecrement, kOpGatK,  kOpGatKQ,
      kOpDecrementQ, kOpIncrementQ, kOpNoop};
  static constexpr uint8_t kSeldom[] = {kOpVersion, kOpStat,      kOpFlush,    kOpFlushQ,
                                        kOpNoop,    kOpVerbosity, kOpSaslList, kOpSaslAuth,
                                        0x1f,       0x70,         kOpSaslStep, 0xff};
  if (dice_.OneIn(60)) return dice_.OneIn(2) ? kOpQuit : kOpQuitQ;
  if (dice_.OneIn(8)) return kSeldom[dice_.Below(std::size(kSeldom))];
  return kOften[dice_.Below(std::size(kOften))];
}

std::string BinaryTraffic::Key(bool may_be_long) {
  static const char* const kKeys[] = {"a", "b", "n", "n", "number", "c\r\n", "noreply"};
  if (dice_.OneIn(20)) return std::string(250, 'k');
  if (may_be_long && dice_.OneIn(100)) return std::string(251 + dice_.Below(300), 'k');
  return kKeys[dice_.Below(std::size(kKeys))];
}

std::string BinaryTraffic::Value(uint8_t opcode) {
  if (opcode == kOpSaslAuth || opcode == kOpSaslStep) return std::string("\0user\0pass", 10);
  if (dice_.OneIn(150)) return std::string(2'000'000, 'x');
  if (dice_.OneIn(3)) return absl::StrCat(dice_.Below(100));
  return std::string(dice_.Below(dice_.OneIn(10) ? 20000 : 20), "x\x80\n"[dice_.Below(3)]);
}

uint32_t BinaryTraffic::Opaque() {
  if (same_opaques_) return 0;
  return dice_.OneIn(10) ? 0xffffffff : count_++;
}

// Makes the header of a request say something else than what follows.
void BinaryTraffic::Lie(BinaryPacket* packet) {
  const uint32_t body =
      static_cast<uint32_t>(packet->extras.size() + packet->key.size() + packet->value.size());
  switch (dice_.Below(6)) {
    case 0:
      packet->body_size = body + static_cast<uint32_t>(dice_.Below(30));
      break;
    case 1:
      packet->body_size = static_cast<uint32_t>(dice_.Below(body + 1));
      break;
    case 2:
      packet->key_size = static_cast<uint16_t>(dice_.Below(packet->key.size() + 4));
      break;
    case 3:
      packet->extras_size = static_cast<uint8_t>(dice_.Below(32));
      break;
    case 4:
      packet->extras.resize(dice_.Below(24), 'e');
      break;
    default:
      packet->value += "more";
  }
}

std::string BinaryTraffic::Request() {
  static const char* const kStats[] = {"",      "settings", "items",       "slabs",     "sizes",
                                       "reset", "bogus",    "detail dump", "detail on", "detail"};
  BinaryPacket packet;
  packet.opcode = Opcode();
  packet.opaque = Opaque();
  packet.extras = std::string(BinaryExtras(packet.opcode), '\0');
  const BinaryShape shape = FindOpcode(packet.opcode).shape;
  const bool bare = shape == BinaryShape::kBare || shape == BinaryShape::kFlush;
  if (shape == BinaryShape::kStat) {
    packet.key = kStats[dice_.Below(std::size(kStats))];
  } else if (!bare) {
    packet.key = Key(/*may_be_long=*/true);
  }
  if (shape == BinaryShape::kStore || shape == BinaryShape::kConcat ||
      shape == BinaryShape::kAuth) {
    packet.value = Value(packet.opcode);
  }
  if (shape == BinaryShape::kFlush && dice_.OneIn(2)) packet.extras = std::string(4, '\0');
  if (shape == BinaryShape::kCounter && dice_.OneIn(3)) packet.extras = std::string(20, '\xff');
  if (shape == BinaryShape::kTouch && dice_.OneIn(3)) packet.extras = BigEndian(1000, 4);
  if (dice_.OneIn(10)) packet.cas = 1 + dice_.Below(50);
  if (dice_.OneIn(20)) packet.status = 7;
  if (dice_.OneIn(60)) Lie(&packet);
  return packet.Bytes();
}

void BinaryTraffic::Damage(std::string* bytes) {
  const size_t at = dice_.Below(std::min<size_t>(bytes->size(), 60));
  switch (dice_.Below(4)) {
    case 0:
      bytes->erase(at, 1 + dice_.Below(3));
      break;
    case 1:
      bytes->insert(at, 1 + dice_.Below(3), static_cast<char>(dice_.Below(256)));
      break;
    default:
      (*bytes)[at] = static_cast<char>(dice_.Below(256));
  }
}

std::string BinaryTraffic::Pipeline() {
  std::string pipeline;
  for (size_t i = 1 + dice_.Below(20); i > 0; --i) {
    std::string request = Request();
    if (dice_.OneIn(100)) Damage(&request);
    pipeline += request;
  }
  return pipeline;
}

std::string BinaryTraffic::Reply() {
  static constexpr uint16_t kStatuses[] = {0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0x20, 0x21, 0x81, 0x82};
  BinaryPacket packet;
  packet.magic = kBinaryReplyMagic;
  packet.opcode = Opcode();
  packet.opaque = Opaque();
  packet.status = kStatuses[dice_.Below(std::size(kStatuses))];
  if (packet.opcode == kOpStat && packet.status == 0) {
    std::string parts;
    const std::string end = packet.Bytes();
    for (size_t i = dice_.Below(4); i > 0; --i) {
      packet.key = Key(/*may_be_long=*/false);
      packet.value = Value(packet.opcode);
      parts += packet.Bytes();
    }
    return parts + end;
  }
  if (dice_.OneIn(2)) packet.extras = std::string(4, '\0');
  if (dice_.OneIn(3)) packet.key = Key(/*may_be_long=*/false);
  if (dice_.OneIn(2)) packet.value = Value(packet.opcode);
  return packet.Bytes();
}

std::string BinaryTraffic::Replies() {
  std::string replies;
  for (size_t i = 1 + dice_.Below(12); i > 0; --i) {
    std::string reply = Reply();
    if (dice_.OneIn(20)) Damage(&reply);
    replies += reply;
  }
  return replies;
}

}  // namespace mcscope::protocol
