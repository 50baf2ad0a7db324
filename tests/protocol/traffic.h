// Random traffic from a seed: what clients might send, from well-formed pipelines to nonsense, and
// what servers might answer. The same seed gives the same traffic on every machine.
#ifndef MCSCOPE_TESTS_PROTOCOL_TRAFFIC_H_
#define MCSCOPE_TESTS_PROTOCOL_TRAFFIC_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "tests/protocol/framing.h"

namespace mcscope::protocol {

class Traffic {
 public:
  explicit Traffic(uint64_t seed) : engine_(seed) {}

  // A request, most often one that memcached takes.
  std::string Request();
  // Several, some of them damaged.
  std::string Pipeline();
  std::string Reply();
  // Several, some of them damaged.
  std::string Replies();

  // Up to `most` places to cut a stream of `size` bytes at.
  Cuts RandomCuts(size_t size, size_t most);

  // Evenly from [0, bound).
  size_t Below(size_t bound) { return static_cast<size_t>(engine_() % bound); }
  bool OneIn(size_t n) { return Below(n) == 0; }

 private:
  std::string OneOf(std::initializer_list<const char*> choices);
  std::string Key();
  std::string Number();
  std::string Length(size_t size);
  std::string MetaFlags();
  std::string LineEnd();
  std::string Storage();
  std::string Meta();
  std::string Fetch();
  std::string Change();
  std::string Admin();
  std::string AnyWords();
  std::string Value(const std::string& start);
  void Damage(std::string* bytes);

  std::mt19937_64 engine_;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_TESTS_PROTOCOL_TRAFFIC_H_
