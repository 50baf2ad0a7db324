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

// Of a process's or a thread's stat file.
absl::Duration CpuTimeIn(const std::string& path) {
  const std::string stat = ReadFile(path);
  // The name, in parentheses, may hold blanks: 11 fields later come utime and stime.
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  int64_t user = 0, system = 0;
  fields >> user >> system;
  return absl::Seconds(1) * (user + system) / sysconf(_SC_CLK_TCK);
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

absl::Duration CpuTime(pid_t pid) { return CpuTimeIn(absl::StrCat("/proc/", pid, "/stat")); }

std::vector<absl::Duration> ThreadCpuTimes(pid_t pid) {
  const std::string main_thread = std::to_string(pid);
  std::vector<absl::Duration> times;
  for (const auto& task :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"))) {
    if (task.path().filename() == main_thread) continue;
    times.push_back(CpuTimeIn((task.path() / "stat").string()));
  }
  std::sort(times.rbegin(), times.rend());
  return times;
}

}  // namespace mcscope::test
