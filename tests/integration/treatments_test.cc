// What each treatment does to the bytes' way, counted at the far end of the proxy; A/B; switching
// while running.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/integration/programs.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/scripted_server.h"
#include "tests/support/tcp_client.h"

namespace mcscope::test {
namespace {

using Json = nlohmann::json;

// Long enough that bytes the proxy sends on at once would have arrived.
const absl::Duration kSettle = absl::Milliseconds(50);

class Treatments : public testing::Test {
 protected:
  Treatments() : server_(AnswerAtOnce) {}

  // Sends a set in three pieces, each when the proxy has read the one before; the pieces that had
  // arrived at memcached's place before the last one was sent, in bytes.
  size_t SplitSet(const Mcscope& proxy, TcpClient* client, int connection) {
    Peer& peer = server_.peer(connection);
    client->Clear();
    const double already = ReceivedFromClients(proxy);
    const size_t before = peer.received().size();
    double sent = 0;
    for (const std::string piece : {"set a 0 0 5\r\n", "hello"}) {
      client->Send(piece);
      sent += static_cast<double>(piece.size());
      EXPECT_TRUE(Eventually([&] { return ReceivedFromClients(proxy) - already >= sent; }));
      absl::SleepFor(kSettle);
    }
    const size_t early = peer.received().size() - before;
    client->Send("\r\n");
    EXPECT_TRUE(client->ReadUntil("STORED\r\n"));
    return early;
  }

  static double ReceivedFromClients(const Mcscope& proxy) {
    return proxy.Metrics().Sum("mcscope_bytes_total",
                               {{"side", "client"}, {"direction", "received"}});
  }

  ScriptedServer server_;
};

TEST_F(Treatments, CoalesceOnSendsASplitSetInOneWrite) {
  Mcscope proxy(kMcscope, server_.endpoint(), {"--coalesce=on"});
  TcpClient client(proxy.endpoint());
  for (int set = 1; set <= 3; ++set) {
    EXPECT_EQ(SplitSet(proxy, &client, 0), 0u);
    EXPECT_EQ(server_.peer(0).reads().size(), static_cast<size_t>(set));
    EXPECT_EQ(server_.peer(0).segments(), static_cast<uint32_t>(set));
  }
  proxy.ExpectMetric("mcscope_writes_total", {{"side", "upstream"}}, 3);
}

TEST_F(Treatments, CoalesceOffSendsASplitSetAsItCame) {
  Mcscope proxy(kMcscope, server_.endpoint(), {"--coalesce=off"});
  TcpClient client(proxy.endpoint());
  for (uint32_t set = 1; set <= 3; ++set) {
    EXPECT_EQ(SplitSet(proxy, &client, 0), 18u);
    EXPECT_EQ(server_.peer(0).reads().size(), 3 * set);
    EXPECT_EQ(server_.peer(0).segments(), 3 * set);
  }
  proxy.ExpectMetric("mcscope_writes_total", {{"side", "upstream"}}, 9);
}

TEST_F(Treatments, CoalesceSendsWhatIsCompleteBehindTheHeldRequestInTheSameWrite) {
  Mcscope proxy(kMcscope, server_.endpoint());
  TcpClient client(proxy.endpoint());
  client.Send("set a 0 0 5\r\nhe");
  ASSERT_TRUE(Eventually([&] { return ReceivedFromClients(proxy) == 15; }));
  client.Send("llo\r\nget a\r\nget b\r\n");
  EXPECT_TRUE(client.ReadUntil("STORED\r\nEND\r\nEND\r\n"));
  EXPECT_EQ(server_.peer(0).reads().size(), 1u);
  EXPECT_EQ(server_.peer(0).segments(), 1u);
}

TEST_F(Treatments, EveryKindOfSplitLineIsHeldWhole) {
  Mcscope proxy(kMcscope, server_.endpoint());
  TcpClient client(proxy.endpoint());
  size_t lines = 0;
  for (const std::string line : {"get key another\r\n", "delete key\r\n", "incr key 1\r\n",
                                 "mg key v\r\n", "version\r\n", "touch key 5\r\n"}) {
    const double before = ReceivedFromClients(proxy);
    client.Clear();
    client.Send(line.substr(0, 4));
    ASSERT_TRUE(Eventually([&] { return ReceivedFromClients(proxy) == before + 4; })) << line;
    client.Send(line.substr(4));
    ASSERT_TRUE(client.ReadUntil("\r\n")) << line;
    ++lines;
    EXPECT_EQ(server_.peer(0).reads().size(), lines) << line;
    EXPECT_EQ(server_.peer(0).reads().back(), line);
  }
}

TEST_F(Treatments, WithoutAPauseNothingIsHeldForLater) {
  Mcscope proxy(kMcscope, server_.endpoint());
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("set a 0 0 5\r\nhello\r\n"), "STORED\r\n");
  EXPECT_EQ(server_.peer(0).reads().size(), 1u);
  proxy.ExpectMetric("mcscope_quickacks_total", {}, 0);
  proxy.ExpectMetric("mcscope_split_requests_total", {}, 0);
}

// A value beyond the limit goes on as it comes; its tail waits for the CRLF.
TEST_F(Treatments, BeyondTheHoldLimitARequestStreamsAndItsTailLeavesWhole) {
  Mcscope proxy(kMcscope, server_.endpoint(), {"--hold_limit=16KiB"});
  TcpClient client(proxy.endpoint());
  const std::string header = "set big 0 0 200000\r\n";
  const std::string value(200000, 'v');
  client.Send(header + value.substr(0, 100000));
  Peer& peer = server_.peer(0);
  EXPECT_TRUE(Eventually([&] { return peer.received().size() >= 100000 - 16384; }));
  client.Send(value.substr(100000));
  ASSERT_TRUE(Eventually(
      [&] { return ReceivedFromClients(proxy) == static_cast<double>(header.size() + 200000); }));
  absl::SleepFor(kSettle);
  EXPECT_LT(peer.received().size(), header.size() + value.size());
  client.Send("\r\n");
  EXPECT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_EQ(peer.received(), header + value + "\r\n");
  EXPECT_GT(peer.reads().back().size(), 2u);
}

TEST_F(Treatments, AHoldLimitOfZeroHoldsNothing) {
  Mcscope proxy(kMcscope, server_.endpoint(), {"--hold_limit=0"});
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(SplitSet(proxy, &client, 0), 18u);
}

TEST_F(Treatments, ALineThatMemcachedRefusesIsNeverHeld) {
  for (const char* line : {"set a x 0 5\r\n", "set a 0 0 x\r\n", "set a 0 0 -1\r\n",
                           "cas a 0 0 5\r\n", "ms a x\r\n"}) {
    Memcached memcached;
    Mcscope proxy(kMcscope, memcached.endpoint());
    TcpClient client(proxy.endpoint());
    client.Send(line);
    EXPECT_TRUE(client.ReadUntil("\r\n")) << line;
  }
}

// What is held must leave when the client will send no more.
TEST_F(Treatments, AHeldRequestLeavesWhenItsClientHalfCloses) {
  Mcscope proxy(kMcscope, server_.endpoint());
  TcpClient client(proxy.endpoint());
  client.Send("set a 0 0 5\r\nhel");
  client.HalfClose();
  EXPECT_TRUE(Eventually([&] { return server_.peer(0).received() == "set a 0 0 5\r\nhel"; }));
  EXPECT_TRUE(Eventually([&] { return server_.peer(0).ended(); }));
}

TEST_F(Treatments, QuickAckIsArmedOncePerReadThatLeavesARequestIncomplete) {
  Mcscope proxy(kMcscope, server_.endpoint());
  TcpClient client(proxy.endpoint());
  SplitSet(proxy, &client, 0);
  proxy.ExpectMetric("mcscope_quickacks_total", {{"side", "client"}}, 2);
  proxy.ExpectMetric("mcscope_quickacks_total", {{"side", "upstream"}}, 0);
  proxy.ExpectMetric("mcscope_split_requests_total", {}, 1);
  proxy.ExpectMetric("mcscope_request_reads_sum", {}, 3);
  proxy.Set(R"({"quickack":"off"})");
  SplitSet(proxy, &client, 0);
  proxy.ExpectMetric("mcscope_quickacks_total", {{"side", "client"}}, 2);
}

TEST(TreatmentsUpstream, QuickAckIsArmedWhenAReadLeavesAReplyIncomplete) {
  ScriptedServer server([](Peer& peer, int) {
    while (!peer.ReadUntil("\r\n").empty()) {
      peer.Write("VALUE a 0 5\r\n");
      peer.Delay(kSettle);
      peer.Write("hello\r\nEND\r\n");
    }
  });
  Mcscope proxy(kMcscope, server.endpoint());
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("get a\r\n", "END\r\n"), "VALUE a 0 5\r\nhello\r\nEND\r\n");
  proxy.ExpectMetric("mcscope_quickacks_total", {{"side", "upstream"}}, 1);
  proxy.ExpectMetric("mcscope_quickacks_total", {{"side", "client"}}, 0);
}

// --- A/B ---

// How many of `count` new sessions, one request each, are in arm b.
double SessionsInArmB(const Mcscope& proxy, int count) {
  std::vector<std::unique_ptr<TcpClient>> clients;
  const Labels b = {{"command", "get"}, {"arm", "b"}};
  const double before = proxy.Metrics().Sum("mcscope_requests_total", b);
  const double all = proxy.Metrics().Sum("mcscope_requests_total", {{"command", "get"}});
  for (int i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<TcpClient>(proxy.endpoint()));
    EXPECT_EQ(clients.back()->Ask("get a\r\n"), "END\r\n");
  }
  EXPECT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {{"command", "get"}}, all + count));
  return proxy.Metrics().Sum("mcscope_requests_total", b) - before;
}

TEST_F(Treatments, WithoutABEverySessionIsInArmA) {
  Mcscope proxy(kMcscope, server_.endpoint());
  EXPECT_EQ(SessionsInArmB(proxy, 50), 0);
}

TEST_F(Treatments, ThePercentageIsTheShareOfSessionsInArmB) {
  Mcscope proxy(kMcscope, server_.endpoint(), {"--ab=coalesce=off,quickack=off"});
  // Four standard deviations to each side, were it a throw of dice for each session.
  EXPECT_NEAR(SessionsInArmB(proxy, 200), 100, 30);
  proxy.Set(R"({"ab_percent":25})");
  EXPECT_NEAR(SessionsInArmB(proxy, 200), 50, 25);
  proxy.Set(R"({"ab_percent":0})");
  EXPECT_EQ(SessionsInArmB(proxy, 50), 0);
  proxy.Set(R"({"ab_percent":100})");
  EXPECT_EQ(SessionsInArmB(proxy, 50), 50);
}

TEST_F(Treatments, ArmBDiffersInTheTreatmentsListedAndInItsLabel) {
  Mcscope proxy(kMcscope, server_.endpoint(), {"--ab=coalesce=off", "--ab_percent=50"});
  constexpr int kSessions = 24;
  int split = 0;
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < kSessions; ++i) {
    clients.push_back(std::make_unique<TcpClient>(proxy.endpoint()));
    clients.back()->Send("set a 0 0 5\r\n");
    server_.peer(i);
  }
  // Arm b has sent the headers on, arm a holds them.
  absl::SleepFor(kSettle);
  for (int i = 0; i < kSessions; ++i) split += server_.peer(i).received().empty() ? 0 : 1;
  for (auto& client : clients) {
    client->Send("hello\r\n");
    EXPECT_TRUE(client->ReadUntil("STORED\r\n"));
  }
  const Labels b = {{"arm", "b"}, {"command", "set"}};
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {}, kSessions));
  const Exposition metrics = proxy.Metrics();
  EXPECT_EQ(metrics.Sum("mcscope_requests_total", b), split);
  EXPECT_EQ(metrics.Sum("mcscope_request_duration_seconds_count", b), split);
  EXPECT_EQ(metrics.Sum("mcscope_leg_duration_seconds_count", b), split * 5);
  EXPECT_EQ(metrics.Sum("mcscope_request_duration_seconds_count", {{"arm", "a"}}),
            kSessions - split);
  EXPECT_EQ(metrics.Sum("mcscope_overhead_seconds_count", {{"arm", "b"}}), split);
}

// --- switching while running ---

TEST_F(Treatments, ASwitchAppliesFromTheNextRequestOfAnOpenSession) {
  Mcscope proxy(kMcscope, server_.endpoint(), {"--coalesce=on"});
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(SplitSet(proxy, &client, 0), 0u);
  proxy.Set(R"({"coalesce":"off"})");
  EXPECT_EQ(SplitSet(proxy, &client, 0), 18u);
  proxy.Set(R"({"coalesce":true})");
  EXPECT_EQ(SplitSet(proxy, &client, 0), 0u);
}

TEST_F(Treatments, ARequestUnderWayKeepsTheTreatmentsAndTheArmItBeganWith) {
  Mcscope proxy(kMcscope, server_.endpoint(), {"--coalesce=on"});
  TcpClient client(proxy.endpoint());
  client.Send("set a 0 0 5\r\n");
  ASSERT_TRUE(Eventually([&] { return ReceivedFromClients(proxy) == 13; }));
  proxy.Set(R"({"coalesce":"off","ab":"quickack=off","ab_percent":100})");
  client.Send("hel");
  ASSERT_TRUE(Eventually([&] { return ReceivedFromClients(proxy) == 16; }));
  absl::SleepFor(kSettle);
  EXPECT_EQ(server_.peer(0).received(), "");
  client.Send("lo\r\n");
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_EQ(server_.peer(0).segments(), 1u);
  proxy.ExpectMetric("mcscope_requests_total", {{"arm", "a"}, {"command", "set"}}, 1);
  EXPECT_EQ(client.Ask("get a\r\n"), "END\r\n");
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {{"command", "get"}}, 1));
  proxy.ExpectMetric("mcscope_requests_total", {{"arm", "b"}, {"command", "get"}}, 1);
}

TEST_F(Treatments, SettingsAreShownChangedCountedAndExported) {
  Mcscope proxy(kMcscope, server_.endpoint(), {"--quickack=off", "--ab=coalesce=off"});
  Json settings = Json::parse(proxy.Get("/settings").body);
  EXPECT_EQ(settings["nodelay"], "on");
  EXPECT_EQ(settings["coalesce"], "on");
  EXPECT_EQ(settings["quickack"], "off");
  EXPECT_EQ(settings["ab"], "coalesce=off");
  EXPECT_EQ(settings["ab_percent"], 50);
  EXPECT_EQ(settings["log_level"], "info");
  proxy.ExpectMetric("mcscope_setting", {{"name", "quickack"}}, 0);
  proxy.ExpectMetric("mcscope_setting", {{"name", "coalesce"}}, 1);
  proxy.ExpectMetric("mcscope_setting_changes_total", {}, 0);

  proxy.Set(R"({"quickack":"on","ab":"","log_level":"warning"})");
  settings = Json::parse(proxy.Get("/settings").body);
  EXPECT_EQ(settings["quickack"], "on");
  EXPECT_EQ(settings["coalesce"], "on");
  EXPECT_EQ(settings["ab"], "");
  EXPECT_EQ(settings["log_level"], "warning");
  proxy.ExpectMetric("mcscope_setting", {{"name", "quickack"}}, 1);
  proxy.ExpectMetric("mcscope_setting_changes_total", {{"name", "quickack"}}, 1);
  proxy.ExpectMetric("mcscope_setting_changes_total", {{"name", "coalesce"}}, 0);
}

TEST_F(Treatments, WhatGetShowsCanBePut) {
  Mcscope proxy(kMcscope, server_.endpoint(), {"--ab=coalesce=off,quickack=off"});
  const std::string settings = proxy.Get("/settings").body;
  EXPECT_EQ(proxy.Put("/settings", settings).status, 200);
  EXPECT_EQ(proxy.Get("/settings").body, settings);
  proxy.ExpectMetric("mcscope_setting_changes_total", {}, 0);
}

TEST_F(Treatments, AnInvalidSettingIsRefusedWithItsReasonAndChangesNothing) {
  Mcscope proxy(kMcscope, server_.endpoint());
  const std::string before = proxy.Get("/settings").body;
  for (const char* body :
       {"", "x", "[]", "{", "null", R"({"coalesce":"maybe"})", R"({"coalesce":1})",
        R"({"ab_percent":101})", R"({"ab_percent":-1})", R"({"ab_percent":"50"})",
        R"({"ab_percent":12.5})", R"({"ab":"coalesce"})", R"({"ab":"nothing=on"})",
        R"({"ab":"coalesce=off,coalesce=on"})", R"({"ab":5})", R"({"log_level":"loud"})",
        R"({"unknown":"on"})", R"({"quickack":"off","coalesce":"maybe"})"}) {
    const HttpResponse response = proxy.Put("/settings", body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_GT(response.body.size(), 5u) << body;
  }
  EXPECT_EQ(proxy.Get("/settings").body, before);
  proxy.ExpectMetric("mcscope_setting_changes_total", {}, 0);
}

}  // namespace
}  // namespace mcscope::test
