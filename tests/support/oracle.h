// The comparison behind every test of transparency: the same script, once straight to memcached and
// once through the proxy, each time with a memcached that has just been started. Clients must not
// be able to tell the two apart.
#ifndef MCSCOPE_TESTS_SUPPORT_ORACLE_H_
#define MCSCOPE_TESTS_SUPPORT_ORACLE_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/tcp_client.h"

namespace mcscope::test {

// Takes out of received bytes what two runs of the same memcached may differ in.
using Mask = std::function<std::string(std::string)>;
std::string NoMask(std::string received);
// Numbers that tell the time, process or load: values of STAT lines, `ts=`, `la=`, `exp=`.
std::string MaskStatistics(std::string received);
// Likewise: the values in binary replies to STAT.
std::string MaskBinaryStatistics(std::string received);
Outcome Masked(Outcome outcome, const Mask& mask);

class Oracle {
 public:
  // `options` are for both memcacheds; the proxy is started in front of the second one.
  explicit Oracle(std::string binary, std::vector<std::string> options = {});

  struct Verdict {
    bool same = false;
    // They were the same only when the client paused for longer between its chunks: the machine,
    // not the proxy, had put chunks together.
    bool second_look = false;
    Outcome direct, proxied;
  };
  // `direct` saves asking memcached again when its answer to this script is known.
  Verdict Compare(const Script& script, const Mask& mask = NoMask,
                  absl::optional<Outcome> direct = absl::nullopt);

  Mcscope& proxy() { return proxy_; }
  Memcached& upstream() { return upstream_; }

 private:
  Outcome Direct(const Script& script, absl::Duration extra_pause);
  // `direct` tells how much to wait for.
  Outcome Proxied(const Script& script, absl::Duration extra_pause, const Outcome& direct);

  Memcached direct_, upstream_;
  Mcscope proxy_;
};

// The eight combinations of treatments, as bodies for PUT /settings, with what to call them.
struct Combination {
  const char* name;
  const char* settings;
};
const std::vector<Combination>& AllCombinations();
void PrintTo(const Combination& combination, std::ostream* out);  // for GoogleTest

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_ORACLE_H_
