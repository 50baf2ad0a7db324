// What a process uses, read from /proc.
#ifndef MCSCOPE_TESTS_SUPPORT_PROCESS_STATS_H_
#define MCSCOPE_TESTS_SUPPORT_PROCESS_STATS_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <map>

#include "absl/time/time.h"

namespace mcscope::test {

// Sanitizers keep what is freed and shadow the rest: bounds on memory do not hold under them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

int64_t ResidentBytes(pid_t pid);

// Whether the process has grown by less than `limit` bytes since it had `before`.
::testing::AssertionResult GrewByLessThan(int64_t limit, pid_t pid, int64_t before);

int OpenFiles(pid_t pid);
absl::Duration CpuTime(pid_t pid);  // of all threads that still run

// That of each thread.
std::map<pid_t, absl::Duration> ThreadCpuTimes(pid_t pid);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_PROCESS_STATS_H_
