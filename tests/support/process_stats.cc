#include "tests/support/process_stats.h"

#include <unistd.h>

#include <algorithm>
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

std::filesystem::directory_iterator TasksOf(pid_t pid) {
  return std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"));
}

}  // namespace

int64_t ResidentBytes(pid_t pid) {
  std::istringstream statm(ReadFile(absl::StrCat("/proc/", pid, "/statm")));
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int OpenFiles(pid_t pid) {
  std::error_code error;
  const std::filesystem::directory_iterator files(absl::StrCat("/proc/", pid, "/fd"), error);
  return static_cast<int>(std::distance(begin(files), end(files)));
}

absl::Duration CpuTime(pid_t pid) {
  absl::Duration sum;
  for (const auto& task : TasksOf(pid)) sum += ThreadCpuTime(task.path());
  return sum;
}

std::vector<absl::Duration> ThreadCpuTimes(pid_t pid) {
  const std::string main_thread = std::to_string(pid);
  std::vector<absl::Duration> times;
  for (const auto& task : TasksOf(pid)) {
    if (task.path().filename() != main_thread) times.push_back(ThreadCpuTime(task.path()));
  }
  std::sort(times.rbegin(), times.rend());
  return times;
}

}  // namespace mcscope::test
