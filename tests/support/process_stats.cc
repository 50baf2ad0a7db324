#include "tests/support/process_stats.h"

#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "tests/support/temp_dir.h"

namespace mcscope::test {

namespace {

// The time a thread has run, from the scheduler: exact, where `stat` only samples.
absl::Duration ThreadCpuTime(const std::filesystem::path& task) {
  std::istringstream schedstat(ReadFile((task / "schedstat").string()));
  int64_t nanoseconds = 0;
  schedstat >> nanoseconds;
  return absl::Nanoseconds(nanoseconds);
}

}  // namespace

int64_t ResidentBytes(pid_t pid) {
  std::istringstream statm(ReadFile(absl::StrCat("/proc/", pid, "/statm")));
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

::testing::AssertionResult GrewByLessThan(int64_t limit, pid_t pid, int64_t before) {
  const int64_t growth = ResidentBytes(pid) - before;
  if (kSanitized || growth < limit) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "grew by " << growth << " bytes, not less than " << limit;
}

int OpenFiles(pid_t pid) {
  std::error_code error;
  const std::filesystem::directory_iterator files(absl::StrCat("/proc/", pid, "/fd"), error);
  return static_cast<int>(std::distance(begin(files), end(files)));
}

absl::Duration CpuTime(pid_t pid) {
  absl::Duration sum;
  for (const auto& [thread, time] : ThreadCpuTimes(pid)) sum += time;
  return sum;
}

std::map<pid_t, absl::Duration> ThreadCpuTimes(pid_t pid) {
  std::map<pid_t, absl::Duration> times;
  for (const auto& task :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"))) {
    times[std::stoi(task.path().filename().string())] = ThreadCpuTime(task.path());
  }
  return times;
}

}  // namespace mcscope::test
