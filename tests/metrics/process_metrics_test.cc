#include "metrics/process_metrics.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <map>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace mcscope::metrics {
namespace {

// The value of each process metric that there is.
std::map<std::string, double> Read(const ProcessMetrics& process) {
  FamilySet families;
  process.AddTo(&families);
  std::map<std::string, double> values;
  for (const prometheus::MetricFamily& family : families.Take()) {
    for (const prometheus::ClientMetric& sample : family.metric) {
      values[family.name] = family.type == prometheus::MetricType::Counter ? sample.counter.value
                                                                           : sample.gauge.value;
    }
  }
  return values;
}

TEST(ProcessMetrics, HasTheWholeCanonicalSet) {
  const auto values = Read(ProcessMetrics());
  EXPECT_EQ(values.size(), 7u);
  EXPECT_GT(values.at("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(values.at("process_virtual_memory_bytes"), values.at("process_resident_memory_bytes"));
  EXPECT_GE(values.at("process_cpu_seconds_total"), 0);
}

TEST(ProcessMetrics, StartedBetweenTheEpochAndNow) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double start = Read(ProcessMetrics()).at("process_start_time_seconds");
  EXPECT_LT(start, now + 2);
  EXPECT_GT(start, now - 24 * 3600);
}

TEST(ProcessMetrics, CountsDescriptorsAndThreads) {
  const ProcessMetrics process;
  const auto before = Read(process);
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  std::map<std::string, double> during;
  std::thread([&] { during = Read(process); }).join();
  close(fd);
  EXPECT_EQ(during.at("process_open_fds"), before.at("process_open_fds") + 1);
  // At least: a thread of an earlier test may be on its way out yet.
  EXPECT_GE(during.at("process_threads"), 2);
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(during.at("process_max_fds"), static_cast<double>(limit.rlim_cur));
}

TEST(ProcessMetrics, CpuTimeGrowsWithWork) {
  const ProcessMetrics process;
  const double before = Read(process).at("process_cpu_seconds_total");
  const std::clock_t start = std::clock();
  while (std::clock() - start < CLOCKS_PER_SEC / 50) {
  }
  EXPECT_GT(Read(process).at("process_cpu_seconds_total"), before + 0.015);
}

}  // namespace
}  // namespace mcscope::metrics
