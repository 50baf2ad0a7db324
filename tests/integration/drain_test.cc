// The end of the proxy itself: what is under way is finished, then it goes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>

#include "tests/integration/programs.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/scripted_server.h"
#include "tests/support/tcp_client.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace mcscope::test {
namespace {

TEST(Drain, SigtermFinishesExchangesInFlightAndThenEndsWithStatusZero) {
  for (const int signal : {SIGTERM, SIGINT}) {
    std::atomic<bool> answer{false};
    ScriptedServer server([&](Peer& peer, int) {
      peer.ReadUntil("\r\n");
      while (!answer) peer.Delay(absl::Milliseconds(5));
      peer.Write("VALUE a 0 5\r\nhello\r\nEND\r\n");
      peer.ReadUntil("never");
    });
    Mcscope proxy(kMcscope, server.endpoint());
    TcpClient busy(proxy.endpoint());
    busy.Send("get a\r\n");
    ASSERT_TRUE(Eventually([&] { return server.peer(0).received() == "get a\r\n"; }));
    TcpClient idle(proxy.endpoint());
    server.peer(1);
    proxy.process().Signal(signal);
    EXPECT_TRUE(idle.ReadToEnd());
    EXPECT_TRUE(Eventually([&] { return !ConnectTo(proxy.endpoint()).valid(); }));
    EXPECT_FALSE(proxy.process().Wait(absl::Milliseconds(100)).has_value());
    answer = true;
    EXPECT_TRUE(busy.ReadToEnd());
    EXPECT_EQ(busy.received(), "VALUE a 0 5\r\nhello\r\nEND\r\n");
    EXPECT_EQ(proxy.process().Wait(kPatience).value_or(-1), 0);
    proxy.AlreadyStopped();
  }
}

TEST(Drain, ARequestHalfSentIsFinishedToo) {
  ScriptedServer server(AnswerAtOnce);
  Mcscope proxy(kMcscope, server.endpoint());
  TcpClient client(proxy.endpoint());
  client.Send("set a 0 0 5\r\nhel");
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_bytes_total",
                                  {{"side", "client"}, {"direction", "received"}}, 16));
  proxy.process().Signal(SIGTERM);
  EXPECT_TRUE(Eventually([&] { return !ConnectTo(proxy.endpoint()).valid(); }));
  client.Send("lo\r\n");
  EXPECT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_TRUE(client.ReadToEnd());
  EXPECT_EQ(proxy.process().Wait(kPatience).value_or(-1), 0);
  proxy.AlreadyStopped();
}

TEST(Drain, WhatDoesNotFinishIsCutAfterTheDrainTimeout) {
  ScriptedServer server([](Peer& peer, int) { peer.StayOpen(); });
  Mcscope proxy(kMcscope, server.endpoint(), {"--drain_timeout=300ms"});
  TcpClient client(proxy.endpoint());
  client.Send("get a\r\n");
  server.peer(0);
  ASSERT_TRUE(
      proxy.WaitForMetric("mcscope_bytes_total", {{"side", "upstream"}, {"direction", "sent"}}, 7));
  proxy.process().Signal(SIGTERM);
  EXPECT_TRUE(client.ReadToEnd());
  EXPECT_EQ(proxy.process().Wait(kPatience).value_or(-1), 0);
  proxy.AlreadyStopped();
}

TEST(Drain, ASecondSignalEndsAtOnce) {
  ScriptedServer server([](Peer& peer, int) { peer.StayOpen(); });
  Mcscope proxy(kMcscope, server.endpoint());
  TcpClient client(proxy.endpoint());
  client.Send("get a\r\n");
  ASSERT_TRUE(
      proxy.WaitForMetric("mcscope_bytes_total", {{"side", "upstream"}, {"direction", "sent"}}, 7));
  proxy.process().Signal(SIGTERM);
  EXPECT_TRUE(Eventually([&] { return !ConnectTo(proxy.endpoint()).valid(); }));
  proxy.process().Signal(SIGTERM);
  EXPECT_TRUE(proxy.process().Wait(kPatience).has_value());
  proxy.AlreadyStopped();
}

TEST(Drain, AnIdleProxyEndsAtOnce) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  const absl::Time start = absl::Now();
  proxy.ExpectCleanStop();
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST(Drain, TheUnixSocketIsRemoved) {
  Memcached memcached;
  TempDir directory;
  Command command;
  command.argv = {"--listen=unix:" + directory.File("proxy"),
                  "--upstream=" + memcached.endpoint().ToString()};
  Mcscope proxy(kMcscope, command);
  EXPECT_TRUE(ConnectTo(proxy.endpoint()).valid());
  proxy.ExpectCleanStop();
  EXPECT_FALSE(ConnectTo(proxy.endpoint()).valid());
  EXPECT_NE(access(directory.File("proxy").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace mcscope::test
