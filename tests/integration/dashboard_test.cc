// The shipped Grafana dashboard, asked the way Grafana asks it: every expression goes to a real
// Prometheus that scrapes a real mcscope under load, and every one must answer with data.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "tests/integration/programs.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/prometheus.h"
#include "tests/support/subprocess.h"
#include "tests/support/tcp_client.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace mcscope::test {
namespace {

using Json = nlohmann::json;

struct Expression {
  std::string where;  // the panel or annotation
  std::string text;   // as Grafana would send it
};

// Prometheus scrapes each second here, so Grafana's choice of a window would be 4 s.
std::string Substituted(const std::string& expression) {
  return absl::StrReplaceAll(expression, {{"$__rate_interval", "8s"},
                                          {"$__interval", "4s"},
                                          {"$__range", "1m"},
                                          {"$route", ".*"},
                                          {"$command", ".*"},
                                          {"$job", ".*"}});
}

void AddPanels(const Json& panels, std::vector<Expression>* found) {
  for (const Json& panel : panels) {
    for (const Json& target : panel.value("targets", Json::array())) {
      found->push_back({panel["title"], Substituted(target["expr"])});
    }
    AddPanels(panel.value("panels", Json::array()), found);
  }
}

// `label_values(metric, label)` is Grafana's own; what it needs is the metric with that label.
Expression OfVariable(const Json& variable) {
  const std::string query = variable["definition"];
  const size_t open = query.find('('), comma = query.find(','), close = query.find(')');
  const std::string metric = query.substr(open + 1, comma - open - 1);
  const std::string label = query.substr(comma + 2, close - comma - 2);
  return {"variable " + variable["name"].get<std::string>(), metric + "{" + label + "!=\"\"}"};
}

std::vector<Expression> DashboardExpressions() {
  const Json dashboard = Json::parse(
      ReadFile(std::string(kSourceDirectory) + "/deploy/grafana/dashboards/mcscope.json"));
  std::vector<Expression> found;
  AddPanels(dashboard["panels"], &found);
  for (const Json& annotation : dashboard["annotations"]["list"]) {
    found.push_back({annotation["name"], Substituted(annotation["expr"])});
  }
  for (const Json& variable : dashboard["templating"]["list"]) {
    if (variable["type"] == "query") found.push_back(OfVariable(variable));
  }
  return found;
}

// An app that splits its writes so that some sets stall, hits and misses; one session after the
// other, on a thread of its own until it is destroyed.
class Load {
 public:
  explicit Load(Endpoint endpoint)
      : thread_([this, endpoint = std::move(endpoint)] {
          while (!stop_.load()) RunScript(endpoint, kScript, RunOptions());
        }) {}
  ~Load() {
    stop_.store(true);
    thread_.join();
  }

 private:
  const Script kScript = {Send("set hit 0 0 5\r\n"),
                          Pause(absl::Milliseconds(35)),
                          Send("hello\r\n"),
                          Await("STORED\r\n"),
                          Send("get hit\r\n"),
                          Await("END\r\n"),
                          Send("get miss\r\n"),
                          Await("END\r\n"),
                          HalfClose()};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

bool HasNumber(const Json& result) {
  if (!result.is_array()) return false;
  for (const Json& sample : result) {
    const std::string value = sample["value"][1];
    if (std::isfinite(std::strtod(value.c_str(), nullptr))) return true;
  }
  return false;
}

TEST(DashboardTest, EveryExpressionAnswersWithDataUnderLoad) {
  const Memcached memcached;
  const Mcscope proxy(kMcscope, memcached.endpoint(),
                      {"--ab=coalesce=off,quickack=off", "--ab_percent=50"});
  const Prometheus prometheus(proxy.admin());
  const std::vector<Expression> expressions = DashboardExpressions();
  ASSERT_GT(expressions.size(), 40u);

  const Load load(proxy.endpoint());
  for (const char* arm : {"a", "b"}) {
    ASSERT_TRUE(
        proxy.WaitForMetric("mcscope_requests_total", {{"arm", arm}, {"command", "get"}}, 1));
  }
  // A change can be seen only from a scrape before it to one after it.
  ASSERT_TRUE(
      Eventually([&] { return HasNumber(prometheus.Query("mcscope_setting_changes_total")); }));
  proxy.Set(R"({"nodelay": "off"})");
  for (const Expression& expression : expressions) {
    EXPECT_TRUE(
        Eventually([&] { return HasNumber(prometheus.Query(expression.text)); }, absl::Seconds(20)))
        << expression.where << ": " << expression.text;
  }
}

// With numbers known beforehand: what the reader of a panel relies on.
TEST(DashboardTest, TheStallPanelShowsTheStallsOfSplitSetsInTheClientsLeg) {
  const Memcached memcached;
  const Mcscope proxy(kMcscope, memcached.endpoint());
  const Prometheus prometheus(proxy.admin());
  const Load load(proxy.endpoint());
  std::string text;
  for (const Expression& expression : DashboardExpressions()) {
    if (expression.where == "Stalls by leg") text = expression.text;
  }
  ASSERT_FALSE(text.empty());
  EXPECT_TRUE(Eventually(
      [&] {
        double client_read = 0;
        for (const Json& sample : prometheus.Query(text)) {
          const double value = std::strtod(sample["value"][1].get<std::string>().c_str(), nullptr);
          if (sample["metric"]["leg"] == "client_read") client_read = value;
          if (sample["metric"]["leg"] != "client_read" && value != 0) return false;
        }
        return client_read > 1;  // per second; a session of the load takes some 40 ms
      },
      absl::Seconds(20)));
}

TEST(DeployTest, PrometheusAcceptsItsConfiguration) {
  Command command;
  command.argv = {"promtool", "check", "config",
                  std::string(kSourceDirectory) + "/deploy/prometheus/prometheus.yml"};
  const Finished finished = RunToEnd(command, absl::Seconds(30));
  EXPECT_EQ(finished.status.value_or(-1), 0) << finished.stdout_text << finished.stderr_text;
}

}  // namespace
}  // namespace mcscope::test
