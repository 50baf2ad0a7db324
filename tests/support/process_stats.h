// What a process uses, read from /proc.
#ifndef MCSCOPE_TESTS_SUPPORT_PROCESS_STATS_H_
#define MCSCOPE_TESTS_SUPPORT_PROCESS_STATS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "absl/time/time.h"

namespace mcscope::test {

int64_t ResidentBytes(pid_t pid);
int OpenFiles(pid_t pid);
absl::Duration CpuTime(pid_t pid);  // of all threads that still run

// That of each thread.
std::map<pid_t, absl::Duration> ThreadCpuTimes(pid_t pid);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_PROCESS_STATS_H_
