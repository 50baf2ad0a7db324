// Random traffic of the binary protocol from a seed; see traffic.h.
#ifndef MCSCOPE_TESTS_PROTOCOL_BINARY_TRAFFIC_H_
#define MCSCOPE_TESTS_PROTOCOL_BINARY_TRAFFIC_H_

#include <cstdint>
#include <string>

#include "tests/protocol/traffic.h"
#include "tests/support/binary_packet.h"

namespace mcscope::protocol {

class BinaryTraffic {
 public:
  explicit BinaryTraffic(uint64_t seed) : dice_(seed), same_opaques_(dice_.OneIn(3)) {}

  // A request, most often one that memcached takes.
  std::string Request();
  // Several, some of them damaged. In every third stream all opaques are 0.
  std::string Pipeline();
  std::string Reply();
  // Several, some of them damaged.
  std::string Replies();

  Cuts RandomCuts(size_t size, size_t most) { return dice_.RandomCuts(size, most); }

 private:
  uint8_t Opcode();
  std::string Key(bool may_be_long);
  std::string Value(uint8_t opcode);
  uint32_t Opaque();
  void Lie(test::BinaryPacket* packet);
  void Damage(std::string* bytes);

  Traffic dice_;
  bool same_opaques_;
  uint32_t count_ = 0;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_TESTS_PROTOCOL_BINARY_TRAFFIC_H_
