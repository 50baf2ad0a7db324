// Drives a loop from the test's own thread, so that one thread plays both sides of a socket.
#ifndef MCSCOPE_TESTS_PROXY_IO_TURN_H_
#define MCSCOPE_TESTS_PROXY_IO_TURN_H_

#include <event2/event.h>

#include <functional>

#include "proxy/io/loop.h"
#include "tests/support/wait.h"

namespace mcscope::io {

// One turn over what is ready now.
inline void Turn(Loop* loop) { event_base_loop(loop->base(), EVLOOP_ONCE | EVLOOP_NONBLOCK); }

// Turns until `condition` holds; false when it does not within `limit`.
inline bool TurnUntil(Loop* loop, const std::function<bool()>& condition,
                      absl::Duration limit = test::kPatience) {
  const auto turned = [loop, &condition] {
    Turn(loop);
    return condition();
  };
  return test::Eventually(turned, limit);
}

}  // namespace mcscope::io

#endif  // MCSCOPE_TESTS_PROXY_IO_TURN_H_
