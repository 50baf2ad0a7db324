#include "metrics/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mcscope::metrics {
namespace {

// Places in /proc/self/stat behind the command name (proc(5) counts from 1, the name being 2).
constexpr size_t kThreads = 20 - 3;
constexpr size_t kStartTime = 22 - 3;
constexpr size_t kVirtualSize = 23 - 3;
constexpr size_t kResidentPages = 24 - 3;

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// The numbers of /proc/self/stat from field 3 on. The name before them may hold anything, blanks
// and brackets too: what counts is the last closing bracket.
std::vector<std::string> StatFields() {
  const std::string stat = ReadFile("/proc/self/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  return absl::StrSplit(absl::string_view(stat).substr(name_end + 1), ' ', absl::SkipEmpty());
}

std::optional<double> Field(const std::vector<std::string>& fields, size_t place) {
  uint64_t value = 0;
  if (place >= fields.size() || !absl::SimpleAtoi(fields[place], &value)) return std::nullopt;
  return static_cast<double>(value);
}

std::optional<double> BootTime() {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    absl::string_view rest = line;
    uint64_t seconds = 0;
    if (absl::ConsumePrefix(&rest, "btime ") && absl::SimpleAtoi(rest, &seconds)) {
      return static_cast<double>(seconds);
    }
  }
  return std::nullopt;
}

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::optional<double> OpenFds() {
  constexpr char kFolder[] = "/proc/self/fd";
  // Newer kernels give the number as the folder's size; counting tens of thousands of entries would
  // take longer than the rest of a scrape.
  struct stat status = {};
  if (stat(kFolder, &status) == 0 && status.st_size > 0) {
    return static_cast<double>(status.st_size);
  }
  DIR* folder = opendir(kFolder);
  if (folder == nullptr) return std::nullopt;
  int entries = 0;
  while (readdir(folder) != nullptr) ++entries;
  closedir(folder);
  return entries - 3;  // ".", ".." and the folder's own descriptor
}

std::optional<double> MaxFds() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

ProcessMetrics::ProcessMetrics() {
  const std::optional<double> boot = BootTime();
  const std::optional<double> ticks = Field(StatFields(), kStartTime);
  if (boot.has_value() && ticks.has_value()) {
    start_time_ = *boot + *ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
}

void ProcessMetrics::AddTo(FamilySet* families) const {
  const auto add = [families](Metric metric, std::optional<double> value) {
    if (value.has_value()) families->Add(metric, {}, *value);
  };
  const std::vector<std::string> fields = StatFields();
  std::optional<double> resident = Field(fields, kResidentPages);
  if (resident.has_value()) *resident *= static_cast<double>(sysconf(_SC_PAGESIZE));
  add(Metric::kProcessCpu, CpuSeconds());
  add(Metric::kProcessResidentMemory, resident);
  add(Metric::kProcessVirtualMemory, Field(fields, kVirtualSize));
  add(Metric::kProcessStartTime, start_time_);
  add(Metric::kProcessOpenFds, OpenFds());
  add(Metric::kProcessMaxFds, MaxFds());
  add(Metric::kProcessThreads, Field(fields, kThreads));
}

}  // namespace mcscope::metrics
