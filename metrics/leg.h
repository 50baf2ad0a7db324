// The legs of an exchange, and how its timeline becomes their durations.
#ifndef MCSCOPE_METRICS_LEG_H_
#define MCSCOPE_METRICS_LEG_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace mcscope::metrics {

enum class Leg : uint8_t {
  kClientRead,    // first byte of the request read -> last byte read
  kRequestQueue,  // -> last byte handed to the kernel towards memcached
  kUpstreamWait,  // -> first byte of the reply read
  kUpstreamRead,  // -> last byte of the reply read
  kClientWrite,   // -> last byte of the reply handed to the kernel towards the app
};
inline constexpr size_t kLegCount = 5;

// The legs in which bytes are waited for that others send piecemeal: where a stall can be.
inline constexpr std::array<Leg, 2> kReadLegs = {Leg::kClientRead, Leg::kUpstreamRead};

absl::string_view Name(Leg leg);

// The moments of one exchange, CLOCK_MONOTONIC, in nanoseconds, each read right after the system
// call that it is about. An exchange without a reply has the first three only.
struct Timeline {
  int64_t first_read = 0;
  int64_t last_read = 0;
  int64_t handed = 0;
  int64_t reply_first = 0;
  int64_t reply_last = 0;
  int64_t written = 0;
};

struct Durations {
  std::array<int64_t, kLegCount> leg = {};  // ns, never negative; their sum is `total`, exactly
  int64_t total = 0;                        // ns
  int64_t overhead = 0;                     // ns in the proxy itself: request_queue + client_write
};

// Durations of an exchange that was answered. A moment earlier than the one before it counts as the
// one before it.
Durations AnsweredDurations(const Timeline& timeline);

// Durations of an exchange without a reply: the first two legs; the others are 0.
Durations UnansweredDurations(const Timeline& timeline);

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_LEG_H_
