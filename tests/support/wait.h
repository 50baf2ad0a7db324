// Waiting for something to become true, with a deadline, in place of sleeping and hoping.
#ifndef MCSCOPE_TESTS_SUPPORT_WAIT_H_
#define MCSCOPE_TESTS_SUPPORT_WAIT_H_

#include <functional>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace mcscope::test {

// How long a test waits for what must happen. Generous: it is only used up by a failure.
inline constexpr absl::Duration kPatience = absl::Seconds(10);

// Asks `condition` about every 2 ms until it holds or `limit` has passed; what it said last.
inline bool Eventually(const std::function<bool()>& condition, absl::Duration limit = kPatience) {
  const absl::Time deadline = absl::Now() + limit;
  while (!condition()) {
    if (absl::Now() >= deadline) return condition();
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_WAIT_H_
