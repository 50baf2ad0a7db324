// A delay put into one leg shows in that leg's histogram and in no other.
#include <gtest/gtest.h>

#include <cmath>
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

const absl::Duration kDelay = absl::Milliseconds(400);
constexpr double kMoved = 0.25;  // seconds: an edge below the delay, far above any noise
constexpr double kLast = 5;      // the last edge
const std::vector<std::string> kAllLegs = {"client_read", "request_queue", "upstream_wait",
                                           "upstream_read", "client_write"};

// Exactly `leg` took that long, `times` times.
void ExpectOnlyMoved(const Exposition& metrics, const std::string& leg, double times,
                     const std::string& histogram = "mcscope_leg_duration_seconds") {
  for (const std::string& other : kAllLegs) {
    const double moved = metrics.Between(histogram, kMoved, kLast, {{"leg", other}});
    EXPECT_EQ(moved, other == leg ? times : 0) << other;
  }
}

double Bytes(const Mcscope& proxy, const std::string& side, const std::string& direction) {
  return proxy.Metrics().Sum("mcscope_bytes_total", {{"side", side}, {"direction", direction}});
}

TEST(LegsTiming, AClientThatPausesInMidRequestMovesClientRead) {
  ScriptedServer server(AnswerAtOnce);
  Mcscope proxy(kMcscope, server.endpoint());
  TcpClient client(proxy.endpoint());
  client.Send("set a 0 0 5\r\n");
  absl::SleepFor(kDelay);
  client.Send("hello\r\n");
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {}, 1));
  ExpectOnlyMoved(proxy.Metrics(), "client_read", 1);
  proxy.ExpectMetric("mcscope_stalls_total", {{"leg", "client_read"}}, 1);
}

// Requests without a reply, each sent when the one before was read, until memcached's place, which
// does not read, has filled all buffers and the proxy has to keep one.
TEST(LegsTiming, AMemcachedThatDoesNotReadMovesRequestQueue) {
  std::atomic<bool> read_on{false};
  ScriptedServer server([&](Peer& peer, int) {
    while (!read_on) peer.Delay(absl::Milliseconds(5));
    while (!peer.ReadUntil("\r\n").empty()) {
    }
  });
  Mcscope proxy(kMcscope, server.endpoint());
  TcpClient client(proxy.endpoint());
  const std::string request =
      absl::StrCat("set a 0 0 50000 noreply\r\n", std::string(50000, 'v'), "\r\n");
  double sent = 0;
  int requests = 0;
  while (Bytes(proxy, "upstream", "sent") == sent && requests < 1000) {
    client.Send(request);
    sent += static_cast<double>(request.size());
    ++requests;
    ASSERT_TRUE(Eventually([&] { return Bytes(proxy, "client", "received") == sent; }));
  }
  absl::SleepFor(kDelay);
  read_on = true;
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {{"result", "none"}}, requests));
  ExpectOnlyMoved(proxy.Metrics(), "request_queue", 1, "mcscope_unanswered_leg_duration_seconds");
}

TEST(LegsTiming, AMemcachedThatThinksMovesUpstreamWait) {
  ScriptedServer server([](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Delay(kDelay);
    peer.Write("END\r\n");
    peer.ReadUntil("never");
  });
  Mcscope proxy(kMcscope, server.endpoint());
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("get a\r\n"), "END\r\n");
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {}, 1));
  ExpectOnlyMoved(proxy.Metrics(), "upstream_wait", 1);
  proxy.ExpectMetric("mcscope_stalls_total", {}, 0);
}

TEST(LegsTiming, AReplyInPiecesMovesUpstreamRead) {
  ScriptedServer server([](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Write("VALUE a 0 5\r\nhe");
    peer.Delay(kDelay);
    peer.Write("llo\r\nEND\r\n");
    peer.ReadUntil("never");
  });
  Mcscope proxy(kMcscope, server.endpoint());
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("get a\r\n", "END\r\n"), "VALUE a 0 5\r\nhello\r\nEND\r\n");
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {}, 1));
  ExpectOnlyMoved(proxy.Metrics(), "upstream_read", 1);
  proxy.ExpectMetric("mcscope_stalls_total", {{"leg", "upstream_read"}}, 1);
}

// Replies, each asked for when the one before has reached the proxy, until the client, which does
// not read, has filled all buffers and the proxy has to keep one.
TEST(LegsTiming, AClientThatDoesNotReadMovesClientWrite) {
  const std::string reply =
      absl::StrCat("VALUE a 0 50000\r\n", std::string(50000, 'v'), "\r\nEND\r\n");
  ScriptedServer server([&](Peer& peer, int) {
    while (!peer.ReadUntil("\r\n").empty()) peer.Write(reply);
  });
  Mcscope proxy(kMcscope, server.endpoint());
  ConnectOptions options;
  options.receive_buffer = 4096;
  TcpClient client(proxy.endpoint(), options);
  double replied = 0;
  int requests = 0;
  while (Bytes(proxy, "client", "sent") == replied && requests < 1000) {
    client.SendSome("get a\r\n");
    replied += static_cast<double>(reply.size());
    ++requests;
    ASSERT_TRUE(Eventually([&] { return Bytes(proxy, "upstream", "received") == replied; }));
  }
  absl::SleepFor(kDelay);
  ASSERT_TRUE(client.ReadBytes(reply.size() * static_cast<size_t>(requests)));
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {{"result", "hit"}}, requests));
  ExpectOnlyMoved(proxy.Metrics(), "client_write", 1);
  EXPECT_EQ(proxy.Metrics().Between("mcscope_overhead_seconds", kMoved, kLast), 1);
}

TEST(Legs, TheirSumIsTheTotalAndTheirCountsAreEqual) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  TcpClient client(proxy.endpoint());
  for (int i = 0; i < 200; ++i) {
    client.Ask("set a 0 0 5\r\nhello\r\n");
    client.Ask("get a\r\n", "END\r\n");
    client.Ask("mg a v\r\nget b\r\nincr a 1\r\nbogus\r\n", "ERROR\r\n");
  }
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_request_duration_seconds_count", {}, 1200));
  const Exposition metrics = proxy.Metrics();
  const double total = metrics.Sum("mcscope_request_duration_seconds_sum");
  EXPECT_NEAR(metrics.Sum("mcscope_leg_duration_seconds_sum"), total, total * 1e-6);
  for (const std::string& leg : kAllLegs) {
    EXPECT_EQ(metrics.Sum("mcscope_leg_duration_seconds_count", {{"leg", leg}}), 1200) << leg;
  }
  EXPECT_NEAR(metrics.Sum("mcscope_overhead_seconds_sum"),
              metrics.Sum("mcscope_leg_duration_seconds_sum", {{"leg", "request_queue"}}) +
                  metrics.Sum("mcscope_leg_duration_seconds_sum", {{"leg", "client_write"}}),
              total * 1e-6);
}

TEST(Legs, EveryRequestEndsInOneResult) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  TcpClient client(proxy.endpoint());
  client.Ask(
      "set a 0 0 1\r\n1\r\nadd a 0 0 1\r\n1\r\nget a\r\nget b\r\ndelete b\r\ndelete a\r\n"
      "cas a 0 0 1 1\r\n1\r\nset n 0 0 1 noreply\r\n5\r\nincr n 2\r\nmg b v\r\nmg n v\r\n"
      "ms q 1 q\r\n1\r\nmd q q\r\nbogus\r\nset a x 0 1\r\ntouch n "
      "0\r\nversion\r\nflush_all\r\nmn\r\n",
      "MN\r\n");
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {{"command", "mn"}}, 1));
  const Exposition metrics = proxy.Metrics();
  const std::vector<std::vector<std::string>> expected = {
      {"set", "stored"}, {"add", "not_stored"},   {"get", "hit"},       {"get", "miss"},
      {"delete", "ok"},  {"delete", "not_found"}, {"cas", "not_found"}, {"set", "none"},
      {"incr", "ok"},    {"mg", "miss"},          {"mg", "hit"},        {"ms", "none"},
      {"md", "none"},    {"other", "error"},      {"set", "error"},     {"touch", "ok"},
      {"version", "ok"}, {"flush_all", "ok"},     {"mn", "ok"}};
  for (const auto& pair : expected) {
    EXPECT_EQ(metrics.Sum("mcscope_requests_total", {{"command", pair[0]}, {"result", pair[1]}}), 1)
        << pair[0] << " " << pair[1];
  }
  EXPECT_EQ(metrics.Sum("mcscope_requests_total"), static_cast<double>(expected.size()));
}

TEST(LegsTiming, QuantilesOfTheWindowsTellTheDelay) {
  ScriptedServer server([](Peer& peer, int) {
    while (!peer.ReadUntil("\r\n").empty()) {
      peer.Delay(absl::Milliseconds(60));
      peer.Write("END\r\n");
    }
  });
  Mcscope proxy(kMcscope, server.endpoint());
  TcpClient client(proxy.endpoint());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.Ask("get a\r\n"), "END\r\n");
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {}, 5));
  const Labels median = {{"arm", "a"}, {"q", "0.5"}};
  ASSERT_TRUE(Eventually([&] {
    return proxy.Metrics().Has("mcscope_leg_quantile_seconds",
                               {{"leg", "total"}, {"window", "10s"}});
  }));
  for (const char* window : {"10s", "60s"}) {
    for (const char* leg : {"upstream_wait", "total"}) {
      Labels labels = median;
      labels["window"] = window;
      labels["leg"] = leg;
      const double value = proxy.Metrics().Sum("mcscope_leg_quantile_seconds", labels);
      EXPECT_GT(value, 0.059) << window << leg;
      EXPECT_LT(value, 0.3) << window << leg;
    }
    Labels labels = median;
    labels["window"] = window;
    labels["leg"] = "client_read";
    EXPECT_LT(proxy.Metrics().Sum("mcscope_leg_quantile_seconds", labels), 0.03);
  }
}

}  // namespace
}  // namespace mcscope::test
