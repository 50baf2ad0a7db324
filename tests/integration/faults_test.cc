// Everything that breaks around the proxy: memcached gone, slow, rude; clients that reset, never
// read, come too many; no descriptors left; the end of the proxy itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/programs.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/process_stats.h"
#include "tests/support/scripted_server.h"
#include "tests/support/tcp_client.h"
#include "tests/support/temp_dir.h"

namespace mcscope::test {
namespace {

void ExpectCloses(const Mcscope& proxy, const std::string& cause, double count) {
  proxy.ExpectMetric("mcscope_session_closes_total", {{"cause", cause}}, count);
}

std::string LargeReply(size_t bytes) {
  return absl::StrCat("VALUE a 0 ", bytes, "\r\n", std::string(bytes, 'v'), "\r\nEND\r\n");
}

// --- memcached's side ---

TEST(Faults, C39_RefusedIsACloseAtOnceAndTheNextConnectionWorksWhenMemcachedIsBack) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  {
    TcpClient client(proxy.endpoint());
    EXPECT_EQ(client.Ask("mn\r\n"), "MN\r\n");
    memcached.Kill();
    EXPECT_TRUE(client.ReadToEnd());
  }
  for (int i = 0; i < 3; ++i) {
    const absl::Time start = absl::Now();
    TcpClient client(proxy.endpoint());
    client.Send("get a\r\n");
    EXPECT_TRUE(client.ReadToEnd());
    EXPECT_EQ(client.received(), "");
    EXPECT_LT(absl::Now() - start, absl::Seconds(1));
  }
  ExpectCloses(proxy, "upstream_refused", 3);
  memcached.Restart();
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("mn\r\n"), "MN\r\n");
}

TEST(Faults, RefusalsAreLoggedButNotEachOfThem) {
  Mcscope proxy(kMcscope, Port(PickPort()));
  for (int i = 0; i < 200; ++i) {
    TcpClient client(proxy.endpoint());
    EXPECT_TRUE(client.ReadToEnd());
  }
  ExpectCloses(proxy, "upstream_refused", 200);
  const std::string log = proxy.process().Stderr();
  EXPECT_TRUE(absl::StrContains(log, "refused")) << log;
  EXPECT_LT(std::count(log.begin(), log.end(), '\n'), 50) << log;
}

TEST(Faults, TheProxyStartsBeforeItsMemcached) {
  const Endpoint endpoint = Port(PickPort());
  Mcscope proxy(kMcscope, endpoint);
  EXPECT_EQ(proxy.Get("/readyz").status, 503);
  Memcached memcached(endpoint, {});
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("mn\r\n"), "MN\r\n");
  EXPECT_EQ(proxy.Get("/readyz").status, 200);
}

TEST(Faults, AMissingUnixSocketIsARefusal) {
  TempDir directory;
  Mcscope proxy(kMcscope, UnixPath(directory.File("nobody")));
  TcpClient client(proxy.endpoint());
  EXPECT_TRUE(client.ReadToEnd());
  ExpectCloses(proxy, "upstream_refused", 1);
}

TEST(Faults, AMemcachedThatDiesInMidReplyLeavesWhatItSentAndThenTheClose) {
  ScriptedServer server([](Peer& peer, int index) {
    peer.ReadUntil("\r\n");
    peer.Write("VALUE a 0 10\r\nhal");
    peer.Delay(absl::Milliseconds(30));
    if (index == 1) peer.Reset();
  });
  Mcscope proxy(kMcscope, server.endpoint());
  {
    TcpClient client(proxy.endpoint());
    client.Send("get a\r\n");
    EXPECT_TRUE(client.ReadToEnd());
    EXPECT_EQ(client.received(), "VALUE a 0 10\r\nhal");
    EXPECT_EQ(client.ending(), Ending::kEof);
  }
  {
    TcpClient client(proxy.endpoint());
    client.Send("get a\r\n");
    EXPECT_TRUE(client.ReadToEnd());
    EXPECT_EQ(client.received(), "VALUE a 0 10\r\nhal");
    EXPECT_EQ(client.ending(), Ending::kReset);
  }
  ExpectCloses(proxy, "upstream_closed", 1);
  ExpectCloses(proxy, "upstream_reset", 1);
  proxy.ExpectMetric("mcscope_requests_total", {{"result", "aborted"}}, 2);
}

TEST(Faults, AllOfALargeReplyArrivesBeforeTheClose) {
  const std::string reply = LargeReply(3000000);
  ScriptedServer server([&](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Write(reply);
  });
  Mcscope proxy(kMcscope, server.endpoint());
  ConnectOptions options;
  options.receive_buffer = 8192;
  TcpClient client(proxy.endpoint(), options);
  client.Send("get a\r\n");
  // A slow reader: the close has long reached the proxy while it still has bytes to deliver.
  ASSERT_TRUE(client.ReadBytes(1));
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_TRUE(client.ReadToEnd());
  EXPECT_TRUE(client.received() == reply) << client.received().size();
  EXPECT_EQ(client.ending(), Ending::kEof);
}

TEST(Faults, AMemcachedThatSpeaksFirstIsPassedOnInATunnel) {
  ScriptedServer server([](Peer& peer, int) {
    peer.Write("HELLO\r\n");
    peer.ReadUntil("\r\n");
    peer.Write("BYE\r\n");
  });
  Mcscope proxy(kMcscope, server.endpoint());
  TcpClient client(proxy.endpoint());
  EXPECT_TRUE(client.ReadUntil("HELLO\r\n"));
  client.Send("get a\r\n");
  EXPECT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.received(), "HELLO\r\nBYE\r\n");
  proxy.ExpectMetric("mcscope_tunnels_total", {{"reason", "unsolicited"}}, 1);
}

TEST(Faults, RepliesThatFitNothingArePassedOnUnchanged) {
  using namespace std::string_literals;  // NOLINT: a NUL byte
  const std::string rubbish = "\0\xff VALUE x y z\r\nEND\n\r\r\nSTORED"s;
  ScriptedServer server([&](Peer& peer, int) {
    while (!peer.ReadUntil("\r\n").empty()) peer.Write(rubbish);
  });
  Mcscope proxy(kMcscope, server.endpoint());
  TcpClient client(proxy.endpoint());
  for (size_t i = 1; i <= 5; ++i) {
    client.Send("get a\r\n");
    EXPECT_TRUE(client.ReadBytes(rubbish.size() * i));
  }
  std::string all;
  for (int i = 0; i < 5; ++i) all += rubbish;
  EXPECT_EQ(client.received(), all);
}

TEST(Faults, AnEndlessReplyLineGrowsNothing) {
  ScriptedServer server([](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 100; ++i) {
      if (!peer.Write(piece)) return;
    }
  });
  Mcscope proxy(kMcscope, server.endpoint());
  const int64_t before = ResidentBytes(proxy.process().pid());
  TcpClient client(proxy.endpoint());
  client.Send("get a\r\n");
  EXPECT_TRUE(client.ReadToEnd(absl::Seconds(60)));
  EXPECT_EQ(client.received().size(), size_t{100} << 20);
  EXPECT_TRUE(GrewByLessThan(8 << 20, proxy.process().pid(), before));
}

// A listener whose queue is full drops what else knocks: the connect must end by the proxy's timer.
TEST(FaultsTiming, C41_TheConnectTimeoutIsKept) {
  const Fd listener = ListenOn(Port(0), 0);
  std::vector<Fd> fillers;
  const Endpoint full = Port(LocalPort(listener));
  for (int i = 0; i < 8; ++i) fillers.push_back(ConnectWithoutWaiting(full));
  absl::SleepFor(absl::Milliseconds(20));
  Mcscope proxy(kMcscope, full, {"--connect_timeout=700ms"});
  const absl::Time start = absl::Now();
  TcpClient client(proxy.endpoint());
  client.Send("get a\r\n");
  EXPECT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.received(), "");
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(630));
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(1500));
  ExpectCloses(proxy, "connect_timeout", 1);
}

// What arrives before the upstream connection stands waits, and not without bound.
TEST(Faults, WhatAClientSendsBeforeMemcachedIsReachedWaitsBounded) {
  const Fd listener = ListenOn(Port(0), 0);
  std::vector<Fd> fillers;
  const Endpoint full = Port(LocalPort(listener));
  for (int i = 0; i < 8; ++i) fillers.push_back(ConnectWithoutWaiting(full));
  Mcscope proxy(kMcscope, full, {"--connect_timeout=2s"});
  const int64_t before = ResidentBytes(proxy.process().pid());
  TcpClient client(proxy.endpoint());
  const std::string piece(1 << 20, 'x');
  size_t taken = 0;
  for (const absl::Time end = absl::Now() + absl::Seconds(1); absl::Now() < end;) {
    const size_t sent = client.SendSome(piece);
    if (sent == std::string::npos) break;
    taken += sent;
    if (sent == 0) absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_LT(taken, size_t{32} << 20);
  EXPECT_TRUE(GrewByLessThan(8 << 20, proxy.process().pid(), before));
  EXPECT_TRUE(client.ReadToEnd());
}

// --- clients ---

TEST(Faults, ClientsThatResetInMidValueLeaveNothingBehind) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  for (int i = 0; i < 100; ++i) {
    TcpClient client(proxy.endpoint());
    client.Send(
        absl::StrCat("set a 0 0 100000\r\n", std::string(static_cast<size_t>(i) * 900, 'x')));
    client.Reset();
  }
  EXPECT_TRUE(Eventually([&] { return proxy.Metrics().Sum("mcscope_sessions") == 0; }));
  ExpectCloses(proxy, "client_reset", 100);
  EXPECT_EQ(memcached.Ask("get a\r\n"), "END\r\n");
  EXPECT_LT(OpenFiles(proxy.process().pid()), 40);
}

TEST(Faults, ClientsThatResetWithRepliesUnderWayLeaveNothingBehind) {
  Memcached memcached;
  memcached.Ask(absl::StrCat("set a 0 0 500000\r\n", std::string(500000, 'v'), "\r\n"));
  Mcscope proxy(kMcscope, memcached.endpoint());
  for (int i = 0; i < 50; ++i) {
    TcpClient client(proxy.endpoint());
    client.Send("get a\r\nget a\r\nget a\r\n");
    if (i % 2 == 0) client.ReadBytes(1000);
    client.Reset();
  }
  EXPECT_TRUE(Eventually([&] { return proxy.Metrics().Sum("mcscope_sessions") == 0; }));
  EXPECT_LT(OpenFiles(proxy.process().pid()), 40);
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("mn\r\n"), "MN\r\n");
}

TEST(Faults, ReadersThatNeverReadCostLittleAndDisturbNobody) {
  Memcached memcached;
  memcached.Ask(absl::StrCat("set a 0 0 900000\r\n", std::string(900000, 'v'), "\r\n"));
  Mcscope proxy(kMcscope, memcached.endpoint());
  const int64_t before = ResidentBytes(proxy.process().pid());
  std::vector<std::unique_ptr<TcpClient>> readers;
  for (int i = 0; i < 20; ++i) {
    readers.push_back(std::make_unique<TcpClient>(proxy.endpoint()));
    for (int j = 0; j < 500; ++j) readers.back()->SendSome("get a\r\n");
  }
  // 9 GB are asked for. Once nothing moves any more, all buffers are full.
  double sent = -1;
  EXPECT_TRUE(Eventually([&] {
    absl::SleepFor(absl::Milliseconds(200));
    const double now = proxy.Metrics().Sum("mcscope_bytes_total", {{"side", "client"}});
    return std::exchange(sent, now) == now;
  }));
  EXPECT_TRUE(GrewByLessThan(20 * (2 << 20), proxy.process().pid(), before));
  TcpClient client(proxy.endpoint());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client.Ask("get b\r\n"), "END\r\n");
}

// A client that sends requests for ever and reads no reply: the proxy stops reading.
TEST(Faults, RequestsWithoutEndAreStoppedByTheRepliesNobodyReads) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  const int64_t before = ResidentBytes(proxy.process().pid());
  TcpClient client(proxy.endpoint());
  std::string piece;
  while (piece.size() < 60000) piece += "get nokey\r\nbogus\r\n";
  size_t taken = 0, stuck = 0;
  while (stuck < 100 && taken < (size_t{256} << 20)) {
    const size_t sent = client.SendSome(piece);
    ASSERT_NE(sent, std::string::npos);
    taken += sent;
    stuck = sent == 0 ? stuck + 1 : 0;
    if (sent == 0) absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(stuck, 100u) << taken;
  EXPECT_TRUE(GrewByLessThan(24 << 20, proxy.process().pid(), before));
}

TEST(Faults, OneHangingMemcachedDoesNotDisturbTheOtherRoute) {
  Memcached hanging, healthy;
  Command command;
  command.argv = {"--threads=1",
                  absl::StrCat("--routes=bad=127.0.0.1:0,", hanging.endpoint().ToString(),
                               ";good=127.0.0.1:0,", healthy.endpoint().ToString())};
  Mcscope proxy(kMcscope, command);
  hanging.Stop();
  std::vector<std::unique_ptr<TcpClient>> stuck;
  for (int i = 0; i < 20; ++i) {
    stuck.push_back(std::make_unique<TcpClient>(proxy.endpoint("bad")));
    stuck.back()->Send("get a\r\n");
  }
  TcpClient client(proxy.endpoint("good"));
  for (int i = 0; i < 200; ++i) EXPECT_EQ(client.Ask("get a\r\n"), "END\r\n");
  hanging.Continue();
  for (auto& each : stuck) EXPECT_TRUE(each->ReadUntil("END\r\n"));
}

// --- limits ---

TEST(Faults, OneSessionTooManyIsClosedAndCounted) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint(), {"--max_sessions=3"});
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<TcpClient>(proxy.endpoint()));
    EXPECT_EQ(clients.back()->Ask("mn\r\n"), "MN\r\n");
  }
  {
    TcpClient fourth(proxy.endpoint());
    fourth.Send("mn\r\n");
    EXPECT_TRUE(fourth.ReadToEnd());
    EXPECT_EQ(fourth.received(), "");
  }
  ExpectCloses(proxy, "session_limit", 1);
  clients.pop_back();
  EXPECT_TRUE(Eventually([&] { return proxy.Metrics().Sum("mcscope_sessions") == 2; }));
  TcpClient next(proxy.endpoint());
  EXPECT_EQ(next.Ask("mn\r\n"), "MN\r\n");
}

TEST(Faults, WithManyThreadsTooWhoComesAboveTheLimitWaitsAndIsNotClosed) {
  Memcached memcached;
  Command command;
  command.argv = {"--listen=127.0.0.1:0", "--threads=16",
                  "--upstream=" + memcached.endpoint().ToString()};
  command.file_limit = 128;
  Mcscope proxy(kMcscope, command);
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<TcpClient>(proxy.endpoint()));
    clients.back()->Send("mn\r\n");
  }
  EXPECT_TRUE(proxy.WaitForMetric("mcscope_accept_pauses_total", {}, 1));
  // Each gets its turn as the one before leaves.
  for (auto& client : clients) {
    EXPECT_TRUE(client->ReadUntil("MN\r\n"));
    client->Close();
  }
  ExpectCloses(proxy, "descriptor_limit", 0);
}

TEST(Faults, OutOfDescriptorsAcceptingPausesWithoutSpinningAndResumes) {
  Memcached memcached;
  Command command;
  command.argv = {"--listen=127.0.0.1:0", "--threads=2",
                  "--upstream=" + memcached.endpoint().ToString()};
  command.file_limit = 64;
  Mcscope proxy(kMcscope, command);
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<TcpClient>(proxy.endpoint()));
    clients.back()->Send("mn\r\n");
  }
  EXPECT_TRUE(clients.front()->ReadUntil("MN\r\n"));
  const absl::Duration before = CpuTime(proxy.process().pid());
  absl::SleepFor(absl::Seconds(1));
  EXPECT_LT(CpuTime(proxy.process().pid()) - before, absl::Milliseconds(200));
  // Those that came first are served, and the admin port still answers.
  EXPECT_EQ(clients.front()->Ask("mn\r\n"), "MN\r\n");
  EXPECT_EQ(proxy.Get("/healthz").status, 200);
  EXPECT_GE(proxy.Metrics().Sum("mcscope_accept_pauses_total"), 1);
  // As they leave, those who wait get their turn.
  clients.erase(clients.begin(), clients.begin() + 60);
  for (auto& client : clients) {
    EXPECT_TRUE(client->ReadUntil("MN\r\n"));
    client->Close();
  }
  TcpClient next(proxy.endpoint());
  EXPECT_EQ(next.Ask("mn\r\n"), "MN\r\n");
}

}  // namespace
}  // namespace mcscope::test
