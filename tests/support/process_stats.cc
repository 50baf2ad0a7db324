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
  const std::string stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  // The name, in parentheses, may hold blanks: 11 fields later come utime and stime.
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  int64_t user = 0, system = 0;
  fields >> user >> system;
  return absl::Seconds(1) * (user + system) / sysconf(_SC_CLK_TCK);
}

}  // namespace mcscope::test
