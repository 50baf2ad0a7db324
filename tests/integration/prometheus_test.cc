// A real Prometheus scrapes the proxy and answers the questions that dashboards ask.
#include "tests/support/prometheus.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>

#include "tests/integration/programs.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/split_writer.h"
#include "tests/support/tcp_client.h"

namespace mcscope::test {
namespace {

const absl::Duration kScrapes = absl::Seconds(40);

// Sets and gets until the end of the test.
class Load {
 public:
  explicit Load(const Endpoint& endpoint) : thread_([this, endpoint] { Run(endpoint); }) {}
  ~Load() {
    stop_ = true;
    thread_.join();
  }

 private:
  void Run(const Endpoint& endpoint) {
    TcpClient client(endpoint);
    SplitWriter writer(endpoint);
    while (!stop_) {
      client.Ask("set a 0 0 5\r\nhello\r\n");
      client.Ask("get a\r\n", "END\r\n");
      client.Ask("get nokey\r\n");
      writer.Set();
      absl::SleepFor(absl::Milliseconds(2));
    }
  }

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(PrometheusScrape, QuantilesOfLegsAreAnswered) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  Load load(proxy.endpoint());
  Prometheus prometheus(proxy.admin());

  const nlohmann::json result = prometheus.WaitForData(
      "histogram_quantile(0.99, sum by (leg, le) (rate(mcscope_leg_duration_seconds_bucket[10s])))",
      kScrapes);
  ASSERT_TRUE(result.is_array());
  EXPECT_EQ(result.size(), 5u) << result;
  for (const auto& leg : result) {
    const double value = std::stod(leg["value"][1].get<std::string>());
    EXPECT_GT(value, 0) << leg;
    EXPECT_LT(value, 1) << leg;
  }

  for (const char* query :
       {"sum(rate(mcscope_requests_total[10s]))",
        "sum(rate(mcscope_requests_total{result='hit'}[10s])) / "
        "sum(rate(mcscope_requests_total{result=~'hit|miss'}[10s]))",
        "histogram_quantile(0.5, sum by (le) (rate(mcscope_request_duration_seconds_bucket[10s])))",
        "sum(rate(mcscope_writes_total{side='upstream'}[10s])) / "
        "sum(rate(mcscope_requests_total[10s]))",
        "max(mcscope_leg_quantile_seconds{leg='total',window='10s',q='0.99'})",
        "sum(rate(mcscope_stalls_total[10s]))", "mcscope_sessions", "mcscope_build_info",
        "rate(process_cpu_seconds_total[10s])", "mcscope_setting{name='coalesce'}"}) {
    const nlohmann::json answer = prometheus.WaitForData(query, kScrapes);
    EXPECT_TRUE(answer.is_array() && !answer.empty()) << query;
    EXPECT_TRUE(std::isfinite(FirstValue(answer))) << query << ": " << answer;
  }
  EXPECT_EQ(FirstValue(prometheus.WaitForData("up{job='mcscope'}", kScrapes)), 1);
}

}  // namespace
}  // namespace mcscope::test
