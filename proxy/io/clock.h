// The one clock of the data path: CLOCK_MONOTONIC in nanoseconds, read afresh at each call
// (libevent's cached time is that of the turn's start and would hide what happens within it).
#ifndef MCSCOPE_PROXY_IO_CLOCK_H_
#define MCSCOPE_PROXY_IO_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace mcscope::io {

inline int64_t NowNs() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

}  // namespace mcscope::io

#endif  // MCSCOPE_PROXY_IO_CLOCK_H_
