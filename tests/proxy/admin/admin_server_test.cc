#include "proxy/admin/admin_server.h"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/exposition.h"
#include "tests/support/http.h"
#include "tests/support/scripted_server.h"
#include "tests/support/tcp_client.h"

namespace mcscope::admin {
namespace {

using nlohmann::json;
using test::AnswerAtOnce;
using test::Exposition;
using test::HttpRequest;
using test::HttpResponse;
using test::ScriptedServer;
using test::TcpClient;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

test::Endpoint EndpointOf(const std::string& address) {
  return test::Port(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
}

io::Address At(const std::string& text) { return *io::Address::Parse(text); }

// The whole of the proxy, in this process.
class AdminServerTest : public ::testing::Test {
 protected:
  AdminServerTest() { std::signal(SIGPIPE, SIG_IGN); }
  ~AdminServerTest() override {
    admin_.reset();
    if (!thread_.joinable()) return;
    kill(getpid(), SIGTERM);
    test::Eventually([this] { return server_->draining(); });
    if (!over_) kill(getpid(), SIGTERM);
    thread_.join();
  }

  void Start() {
    options_.admin = At("127.0.0.1:0");
    if (options_.routes.empty()) AddRoute("default", upstream_.endpoint());
    options_.threads = 2;
    options_.drain_timeout = test::kPatience;
    options_.limits.connect_timeout = absl::Milliseconds(200);
    settings_ = std::make_unique<SettingsStore>(options_.settings);
    server_ = *Server::Create(options_, settings_.get());
    admin_ = *AdminServer::Create(options_, server_.get(), settings_.get());
    thread_ = std::thread([this] {
      server_->Run();
      over_ = true;
    });
  }
  void AddRoute(const std::string& name, const test::Endpoint& upstream) {
    options_.routes.push_back(
        {name, At("127.0.0.1:0"), At(upstream.ToString()), "--listen", "--upstream"});
  }

  HttpResponse Ask(const std::string& method, const std::string& target,
                   const std::string& body = "") const {
    return HttpRequest(EndpointOf(admin_->address()), method, target, body);
  }
  std::string Get(const std::string& target) const { return Ask("GET", target).body; }
  TcpClient Connect(size_t route = 0) const {
    return TcpClient(EndpointOf(server_->routes()[route].listen.ToString()));
  }
  bool WaitForMetric(const std::string& name, const test::Labels& labels, double value) const {
    return test::Eventually([&] { return Exposition(Get("/metrics")).Sum(name, labels) == value; });
  }

  const ScriptedServer upstream_{AnswerAtOnce};
  Options options_;
  std::unique_ptr<SettingsStore> settings_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<AdminServer> admin_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

TEST_F(AdminServerTest, TheIndexListsEveryPath) {
  Start();
  const HttpResponse response = Ask("GET", "/");
  EXPECT_EQ(response.status, 200);
  for (const char* path : {"/metrics", "/legs.json", "/settings", "/healthz", "/readyz"}) {
    EXPECT_THAT(response.body, HasSubstr(path));
    EXPECT_EQ(Ask("GET", path).status, 200) << path;
  }
}

TEST_F(AdminServerTest, IsAlive) {
  Start();
  const HttpResponse response = Ask("GET", "/healthz");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "ok\n");
}

TEST_F(AdminServerTest, MetricsAreWhatPrometheusExpects) {
  Start();
  const HttpResponse response = Ask("GET", "/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const Exposition metrics(response.body);
  EXPECT_EQ(metrics.Sum("mcscope_build_info"), 1);
  EXPECT_TRUE(metrics.Has("process_start_time_seconds"));
  EXPECT_TRUE(metrics.Has("mcscope_sessions", {{"route", "default"}}));
}

TEST_F(AdminServerTest, MetricsTellOfEveryRequest) {
  Start();
  TcpClient client = Connect();
  EXPECT_EQ(client.Ask("set k 0 0 5\r\nhello\r\n"), "STORED\r\n");
  EXPECT_EQ(client.Ask("get k\r\n"), "END\r\n");
  EXPECT_EQ(client.Ask("get k\r\n"), "END\r\n");
  EXPECT_TRUE(WaitForMetric("mcscope_requests_total",
                            {{"command", "get"}, {"result", "miss"}, {"arm", "a"}}, 2));
  const Exposition metrics(Get("/metrics"));
  EXPECT_EQ(metrics.Sum("mcscope_requests_total", {{"command", "set"}, {"result", "stored"}}), 1);
  EXPECT_EQ(metrics.Sum("mcscope_sessions", {{"route", "default"}}), 1);
  EXPECT_EQ(metrics.Sum("mcscope_request_duration_seconds_count", {{"command", "get"}}), 2);
  client.Close();
  EXPECT_TRUE(WaitForMetric("mcscope_session_closes_total", {{"cause", "client_closed"}}, 1));
  EXPECT_EQ(Exposition(Get("/metrics")).Sum("mcscope_sessions"), 0);
}

TEST_F(AdminServerTest, SettingsAreShownAndChanged) {
  Start();
  const HttpResponse before = Ask("GET", "/settings");
  EXPECT_EQ(before.status, 200);
  EXPECT_EQ(before.headers.at("content-type"), "application/json; charset=utf-8");
  EXPECT_EQ(json::parse(before.body)["coalesce"], "on");
  const HttpResponse change =
      Ask("PUT", "/settings", R"({"coalesce": "off", "ab": "nodelay=off", "ab_percent": 100})");
  EXPECT_EQ(change.status, 200);
  EXPECT_EQ(change.body, Get("/settings"));
  EXPECT_EQ(json::parse(change.body)["coalesce"], "off");
  EXPECT_FALSE(settings_->Get().treatments.coalesce);
  const Exposition metrics(Get("/metrics"));
  EXPECT_EQ(metrics.Sum("mcscope_setting", {{"name", "coalesce"}}), 0);
  EXPECT_EQ(metrics.Sum("mcscope_setting", {{"name", "ab_percent"}}), 100);
  EXPECT_EQ(metrics.Sum("mcscope_setting_changes_total", {{"name", "coalesce"}}), 1);
  EXPECT_EQ(metrics.Sum("mcscope_setting_changes_total", {{"name", "quickack"}}), 0);
}

TEST_F(AdminServerTest, AChangeHoldsForSessionsThatAreOpen) {
  Start();
  TcpClient client = Connect();
  EXPECT_EQ(client.Ask("get k\r\n"), "END\r\n");
  EXPECT_EQ(Ask("PUT", "/settings", R"({"ab": "nodelay=off", "ab_percent": 100})").status, 200);
  EXPECT_TRUE(test::Eventually([&] {
    client.Ask("get k\r\n");
    return Exposition(Get("/metrics")).Sum("mcscope_requests_total", {{"arm", "b"}}) > 0;
  }));
}

TEST_F(AdminServerTest, SomethingInvalidChangesNothing) {
  Start();
  const std::string before = Get("/settings");
  for (const char* body : {"", "coalesce=off", R"({"coalesce": "off", "colesce": "off"})",
                           R"({"coalesce": "off", "ab_percent": 101})"}) {
    const HttpResponse response = Ask("PUT", "/settings", body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_TRUE(absl::EndsWith(response.body, "; nothing was changed\n")) << response.body;
    EXPECT_EQ(Get("/settings"), before) << body;
  }
  EXPECT_EQ(Exposition(Get("/metrics")).Sum("mcscope_setting_changes_total"), 0);
}

TEST_F(AdminServerTest, SettingsTakeGetAndPutOnly) {
  Start();
  const HttpResponse response = Ask("POST", "/settings", "{}");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers.at("allow"), "GET, PUT");
  EXPECT_EQ(Ask("PUT", "/metrics", "x").status, 405);
}

TEST_F(AdminServerTest, ReadyWhileEveryUpstreamAccepts) {
  const ScriptedServer other(AnswerAtOnce);
  AddRoute("one", upstream_.endpoint());
  AddRoute("two", other.endpoint());
  Start();
  const HttpResponse response = Ask("GET", "/readyz");
  EXPECT_EQ(response.status, 200);
  const std::vector<std::string> lines = absl::StrSplit(response.body, '\n');
  EXPECT_THAT(lines,
              UnorderedElementsAre(absl::StrCat("one ", upstream_.endpoint().ToString(), " ok"),
                                   absl::StrCat("two ", other.endpoint().ToString(), " ok"), ""));
}

TEST_F(AdminServerTest, NotReadyWhenOneUpstreamRefuses) {
  test::Fd listening = test::ListenOn(test::Port(0));
  const test::Endpoint nobody = test::Port(test::LocalPort(listening));
  listening.Close();
  AddRoute("one", upstream_.endpoint());
  AddRoute("two", nobody);
  Start();
  const HttpResponse response = Ask("GET", "/readyz");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body,
              HasSubstr(absl::StrCat("two ", nobody.ToString(), " Connection refused\n")));
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);
}

TEST_F(AdminServerTest, NotReadyWhileDraining) {
  const ScriptedServer silent([](test::Peer& peer, int) { peer.ReadUntil("never"); });
  AddRoute("default", silent.endpoint());
  Start();
  TcpClient client = Connect();
  client.Send("get k\r\n");
  ASSERT_TRUE(
      WaitForMetric("mcscope_bytes_total", {{"side", "upstream"}, {"direction", "sent"}}, 7));
  kill(getpid(), SIGTERM);
  ASSERT_TRUE(test::Eventually([&] { return server_->draining(); }));
  const HttpResponse response = Ask("GET", "/readyz");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.body, "draining\n");
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);
}

TEST_F(AdminServerTest, GoesWhileSomebodyWaitsForReadiness) {
  test::Fd listening = test::ListenOn(test::Port(0), /*backlog=*/0);
  const test::Endpoint full = test::Port(test::LocalPort(listening));
  const test::Fd filler = test::ConnectTo(full);
  AddRoute("default", full);
  Start();
  TcpClient client(EndpointOf(admin_->address()));
  client.Send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);  // by now it has been asked
  admin_.reset();
  EXPECT_TRUE(client.ReadToEnd());
}

TEST_F(AdminServerTest, LegsAreShownOnceTheWindowHasTurned) {
  Start();
  TcpClient client = Connect();
  EXPECT_EQ(client.Ask("get k\r\n"), "END\r\n");
  json rows;
  ASSERT_TRUE(test::Eventually([&] {
    rows = json::parse(Get("/legs.json"))["routes"]["default"];
    return !rows.empty();
  }));
  // 5 legs and the total, 2 windows, of all commands and of get.
  EXPECT_EQ(rows.size(), 24u);
  for (const json& row : rows) EXPECT_EQ(row["count"], 1) << row;
}

TEST_F(AdminServerTest, ATakenPortIsNamedWithItsFlag) {
  Start();
  Options options = options_;
  options.admin = At(admin_->address());
  const auto second = AdminServer::Create(options, server_.get(), settings_.get());
  EXPECT_EQ(second.status().message(),
            absl::StrCat("--admin: ", admin_->address(), ": Address already in use"));
}

}  // namespace
}  // namespace mcscope::admin
