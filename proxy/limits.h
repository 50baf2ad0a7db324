#ifndef MCSCOPE_PROXY_LIMITS_H_
#define MCSCOPE_PROXY_LIMITS_H_

#include <cstddef>

#include "absl/time/time.h"

namespace mcscope {

// Limits of one session, from options.
struct SessionLimits {
  size_t hold_limit = 64 << 10;  // bytes of an incomplete request kept back
  absl::Duration connect_timeout = absl::Seconds(2);
};

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_LIMITS_H_
