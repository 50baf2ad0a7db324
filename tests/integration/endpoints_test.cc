// What the admin port serves.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/integration/programs.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/tcp_client.h"
#include "tests/support/temp_dir.h"

namespace mcscope::test {
namespace {

using Json = nlohmann::json;

class Endpoints : public testing::Test {
 protected:
  Endpoints() : proxy_(kMcscope, memcached_.endpoint()) {}

  // Commands of several kinds and results, so that every family has samples.
  void Load() {
    TcpClient client(proxy_.endpoint());
    for (int i = 0; i < 20; ++i) {
      client.Ask(
          "set a 0 0 1\r\n1\r\nget a\r\nget b\r\nincr a 1\r\ndelete b\r\nset n 0 0 1 noreply\r\n"
          "1\r\nmg a v\r\nms m 1\r\n1\r\nmd m\r\nbogus\r\nmn\r\n",
          "MN\r\n");
    }
    ASSERT_TRUE(proxy_.WaitForMetric("mcscope_requests_total", {{"command", "mn"}}, 20));
  }

  Memcached memcached_;
  Mcscope proxy_;
};

TEST_F(Endpoints, MetricsHaveTheContentTypeThatPrometheusAsksFor) {
  const HttpResponse response = proxy_.Get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
}

TEST_F(Endpoints, PromtoolHasNothingToSayAboutTheMetrics) {
  Load();
  TempDir directory;
  const std::string page = directory.File("metrics");
  WriteFile(page, proxy_.Get("/metrics").body);
  Command command;
  command.argv = {"sh", "-c", "promtool check metrics < " + page};
  const Finished finished = RunToEnd(command, absl::Seconds(30));
  EXPECT_EQ(finished.status.value_or(-1), 0);
  EXPECT_EQ(finished.stdout_text + finished.stderr_text, "");
}

TEST_F(Endpoints, EveryPromisedMetricIsThere) {
  Load();
  // The windows turn once a second.
  ASSERT_TRUE(Eventually([&] { return proxy_.Metrics().Has("mcscope_leg_quantile_seconds"); }));
  const Exposition metrics = proxy_.Metrics();
  for (const char* name : {"mcscope_request_duration_seconds_bucket",
                           "mcscope_leg_duration_seconds_bucket",
                           "mcscope_overhead_seconds_bucket",
                           "mcscope_leg_quantile_seconds",
                           "mcscope_requests_total",
                           "mcscope_request_reads_bucket",
                           "mcscope_split_requests_total",
                           "mcscope_stalls_total",
                           "mcscope_quickacks_total",
                           "mcscope_writes_total",
                           "mcscope_bytes_total",
                           "mcscope_sessions",
                           "mcscope_sessions_total",
                           "mcscope_session_closes_total",
                           "mcscope_tunnels_total",
                           "mcscope_setting",
                           "mcscope_setting_changes_total",
                           "mcscope_build_info",
                           "process_cpu_seconds_total",
                           "process_resident_memory_bytes",
                           "process_virtual_memory_bytes",
                           "process_start_time_seconds",
                           "process_open_fds",
                           "process_max_fds",
                           "process_threads"}) {
    EXPECT_TRUE(metrics.Has(name)) << name;
  }
  EXPECT_EQ(metrics.Sum("mcscope_build_info"), 1);
}

TEST_F(Endpoints, NoLabelTellsAKeyOrAnAddress) {
  TcpClient client(proxy_.endpoint());
  client.Ask("set secret-key-1 0 0 1\r\n1\r\nget secret-key-1\r\nsecret-word\r\nmn\r\n", "MN\r\n");
  ASSERT_TRUE(proxy_.WaitForMetric("mcscope_requests_total", {{"command", "mn"}}, 1));
  const std::string page = proxy_.Get("/metrics").body;
  EXPECT_FALSE(absl::StrContains(page, "secret"));
  EXPECT_FALSE(absl::StrContains(page, "127.0.0.1"));
}

TEST_F(Endpoints, TheSetOfSeriesIsClosed) {
  Load();
  const size_t before = proxy_.Metrics().samples().size();
  TcpClient client(proxy_.endpoint());
  for (int i = 0; i < 200; ++i) {
    client.Ask(absl::StrCat("set key-", i, " 0 0 1\r\n1\r\n"));
    client.Ask(absl::StrCat("word-", i, "\r\n"));
  }
  ASSERT_TRUE(proxy_.WaitForMetric("mcscope_requests_total", {{"command", "other"}}, 220));
  // The same commands and arms as before: windows may have come in, families have not.
  EXPECT_LE(proxy_.Metrics().samples().size(), before + 200);
}

TEST_F(Endpoints, TheEdgesOfTheHistogramsAreThoseOfTheStall) {
  Load();
  std::set<double> edges;
  for (const Sample& sample :
       proxy_.Metrics().Select("mcscope_leg_duration_seconds_bucket",
                               {{"leg", "client_read"}, {"command", "get"}, {"arm", "a"}})) {
    edges.insert(std::stod(sample.labels.at("le")));
  }
  EXPECT_EQ(edges.size(), 26u);  // 25 and infinity
  for (const double edge : {1e-5, 0.03, 0.035, 0.04, 0.045, 0.05, 0.2, 1.1, 3.1, 5.0}) {
    EXPECT_TRUE(edges.count(edge)) << edge;
  }
}

TEST(EndpointsWithBuckets, EdgesCanBeChosen) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint(), {"--buckets=1ms,40ms"});
  TcpClient client(proxy.endpoint());
  client.Ask("get a\r\n");
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {}, 1));
  EXPECT_EQ(proxy.Metrics()
                .Select("mcscope_leg_duration_seconds_bucket",
                        {{"leg", "client_read"}, {"command", "get"}, {"arm", "a"}})
                .size(),
            3u);
}

TEST_F(Endpoints, HealthSaysThatTheProxyIsAlive) {
  EXPECT_EQ(proxy_.Get("/healthz").status, 200);
  memcached_.Kill();
  EXPECT_EQ(proxy_.Get("/healthz").status, 200);
}

TEST_F(Endpoints, ReadinessFollowsTheUpstream) {
  EXPECT_EQ(proxy_.Get("/readyz").status, 200);
  memcached_.Kill();
  EXPECT_EQ(proxy_.Get("/readyz").status, 503);
  memcached_.Restart();
  EXPECT_TRUE(Eventually([&] { return proxy_.Get("/readyz").status == 200; }));
}

TEST(EndpointsOfRoutes, ReadinessWantsEveryUpstreamAndNamesTheOneThatFails) {
  Memcached first, second;
  Command command;
  command.argv = {absl::StrCat("--routes=one=127.0.0.1:0,", first.endpoint().ToString(),
                               ";two=127.0.0.1:0,", second.endpoint().ToString())};
  Mcscope proxy(kMcscope, command);
  EXPECT_EQ(proxy.Get("/readyz").status, 200);
  second.Kill();
  const HttpResponse response = proxy.Get("/readyz");
  EXPECT_EQ(response.status, 503);
  EXPECT_TRUE(absl::StrContains(response.body, "two")) << response.body;
}

// A memcached that hangs accepts connections: ready, but never answered for by the proxy.
TEST_F(Endpoints, ReadinessDoesNotAnswerForMemcached) {
  memcached_.Stop();
  EXPECT_EQ(proxy_.Get("/readyz").status, 200);
  memcached_.Continue();
}

TEST_F(Endpoints, LegsAreToldInJson) {
  Load();
  HttpResponse response;
  ASSERT_TRUE(Eventually([&] {
    response = proxy_.Get("/legs.json");
    return absl::StrContains(response.body, "upstream_wait");
  }));
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(absl::StartsWith(response.headers.at("content-type"), "application/json"));
  const Json legs = Json::parse(response.body, nullptr, false);
  ASSERT_FALSE(legs.is_discarded()) << response.body;
  for (const char* word : {"client_read", "request_queue", "upstream_wait", "upstream_read",
                           "client_write", "total", "10s", "60s", "get", "set"}) {
    EXPECT_TRUE(absl::StrContains(response.body, absl::StrCat("\"", word, "\""))) << word;
  }
}

TEST_F(Endpoints, UnknownPathsAndMethodsAreRefused) {
  EXPECT_EQ(proxy_.Get("/nothing").status, 404);
  EXPECT_EQ(proxy_.Get("/metrics/more").status, 404);
  for (const char* method : {"PUT", "POST", "DELETE"}) {
    EXPECT_EQ(HttpRequest(proxy_.admin(), method, "/metrics", "x").status, 405) << method;
  }
  EXPECT_EQ(HttpRequest(proxy_.admin(), "POST", "/settings", "{}").status, 405);
  EXPECT_EQ(HttpRequest(proxy_.admin(), "DELETE", "/settings").status, 405);
  EXPECT_EQ(HttpRequest(proxy_.admin(), "GET", "/metrics?x=1").status, 200);
}

TEST_F(Endpoints, RubbishOnTheAdminPortHurtsNobody) {
  for (const std::string& rubbish :
       {std::string("\x16\x03\x01\0\0", 5), std::string(300000, 'x'), std::string("GET\r\n\r\n"),
        std::string("PUT /settings HTTP/1.1\r\n"
                    "Content-Length: 99999999\r\n\r\n{")}) {
    TcpClient client(proxy_.admin());
    client.Send(rubbish);
    client.HalfClose();
    client.ReadToEnd();
  }
  EXPECT_EQ(proxy_.Get("/healthz").status, 200);
}

TEST_F(Endpoints, MetricsAreAnsweredInTimeUnderLoad) {
  Load();
  for (int i = 0; i < 3; ++i) {
    const absl::Time start = absl::Now();
    EXPECT_EQ(proxy_.Get("/metrics").status, 200);
    EXPECT_LT(absl::Now() - start, absl::Milliseconds(500));
  }
}

}  // namespace
}  // namespace mcscope::test
