// Keeps a log readable when the same thing happens thousands of times a second: at most one line a
// second for each key, which tells how many were left out.
//
// Owner: a worker (or the server). One thread.
#ifndef MCSCOPE_PROXY_LOG_LIMITER_H_
#define MCSCOPE_PROXY_LOG_LIMITER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/optional.h"

namespace mcscope {

template <size_t kKeys>
class LogLimiter {
 public:
  // May a line about `key` be written at `now_ns`? If so, how many were left out since the last.
  absl::optional<uint64_t> Admit(size_t key, int64_t now_ns) {
    State& state = states_[key];
    if (state.last_ns != 0 && now_ns - state.last_ns < kPeriodNs) {
      ++state.left_out;
      return absl::nullopt;
    }
    const uint64_t left_out = state.left_out;
    state = {now_ns, 0};
    return left_out;
  }

 private:
  static constexpr int64_t kPeriodNs = 1'000'000'000;
  struct State {
    int64_t last_ns = 0;
    uint64_t left_out = 0;
  };
  std::array<State, kKeys> states_ = {};
};

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_LOG_LIMITER_H_
