// What a link does at memcached's side: pairing, timing, back-pressure, the ways to end.
#include "proxy/link.h"

#include <sys/socket.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/proxy/io/no_descriptors_left.h"
#include "tests/proxy/relay.h"
#include "tests/support/temp_dir.h"

namespace mcscope {
namespace {

using metrics::Arm;
using metrics::CloseCause;
using metrics::Leg;
using metrics::Side;
using protocol::Command;
using protocol::Result;
using test::AnswerAtOnce;
using test::Ending;
using test::Peer;
using test::TcpClient;

constexpr size_t kScratch = WorkerContext::kScratchSize;
constexpr absl::Duration kStall = absl::Milliseconds(35);

uint64_t Stalls(const Relay& relay, Leg leg) {
  return At(At(relay.Counts().arms, Arm::kA).stalls, leg);
}

// --- requests without a reply ---

TEST(UnansweredTest, ANoreplyRequestHasTheFirstTwoLegsOnly) {
  Relay relay([](Peer& peer, int) {
    peer.ReadUntil("get k\r\n");
    peer.Write("END\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("set k 0 0 1 noreply\r\n1\r\nget k\r\n"), "END\r\n");
  ASSERT_TRUE(relay.Recorded(Command::kGet, Result::kMiss));
  EXPECT_EQ(relay.Requests(Command::kSet, Result::kNone), 1u);
  const auto set = relay.Of(Command::kSet);
  for (const auto& leg : set.unanswered_legs) EXPECT_EQ(Total(leg), 1u);
  for (const auto& leg : set.legs) EXPECT_EQ(Total(leg), 0u);
  for (const auto& duration : set.durations) EXPECT_EQ(Total(duration), 0u);
}

TEST(UnansweredTest, ANoreplyRequestIsDoneOnceItIsHandedOver) {
  Relay relay([](Peer& peer, int) { peer.ReadUntil("never"); });
  TcpClient client = relay.Connect();
  client.Send("delete k noreply\r\n");
  EXPECT_TRUE(relay.Recorded(Command::kDelete, Result::kNone));
}

TEST(UnansweredTest, AQuietRequestStayedSilentWhenALaterOneIsAnswered) {
  Relay relay([](Peer& peer, int) {
    peer.ReadUntil("mn\r\n");
    peer.Write("HD O2\r\nMN\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("mg a q O1\r\nmg b q O2\r\nmg c q O3\r\nmn\r\n", "MN\r\n"),
            "HD O2\r\nMN\r\n");
  ASSERT_TRUE(relay.Recorded(Command::kMn, Result::kOk));
  EXPECT_EQ(relay.Requests(Command::kMg, Result::kHit), 1u);
  EXPECT_EQ(relay.Requests(Command::kMg, Result::kNone), 2u);
}

TEST(UnansweredTest, AQuietRequestThatIsLastStaysOpenAndCountsAtTheEnd) {
  Relay relay([](Peer& peer, int) { peer.ReadUntil("never"); });
  TcpClient client = relay.Connect();
  client.Send("mg a v q\r\n");
  ASSERT_TRUE(relay.Sent(Side::kUpstream, 10));
  EXPECT_EQ(relay.Requests(Command::kMg, Result::kNone), 0u);
  client.Close();
  ASSERT_TRUE(relay.HasClosed(CloseCause::kClientClosed));
  EXPECT_EQ(relay.Requests(Command::kMg, Result::kNone), 1u);
  EXPECT_EQ(relay.Requests(Command::kMg, Result::kAborted), 0u);
}

// --- time ---

TEST(TimeTest, AWaitForMemcachedIsInItsOwnLeg) {
  Relay relay([](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Delay(kStall);
    peer.Write("END\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  client.Ask("get a\r\n");
  ASSERT_TRUE(relay.Recorded(Command::kGet, Result::kMiss));
  const auto legs = relay.Of(Command::kGet).legs;
  EXPECT_GE(At(legs, Leg::kUpstreamWait).sum, 20'000'000u);
  EXPECT_EQ(At(legs, Leg::kUpstreamRead).sum, 0u);  // it came in one read
  EXPECT_EQ(Stalls(relay, Leg::kUpstreamRead), 0u);
}

TEST(TimeTest, APauseWithinAReplyIsAStallOfMemcacheds) {
  const Relay* at = nullptr;
  Relay relay([&at](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Write("VALUE a 0 5\r\n");
    at->Received(Side::kUpstream, 13);  // the pause begins when the proxy has it
    peer.Delay(kStall);
    peer.Write("he");
    at->Received(Side::kUpstream, 15);
    peer.Delay(kStall);
    peer.Write("llo\r\nEND\r\n");
    peer.StayOpen();
  });
  at = &relay;
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("get a\r\n", "END\r\n"), "VALUE a 0 5\r\nhello\r\nEND\r\n");
  ASSERT_TRUE(relay.Recorded(Command::kGet, Result::kHit));
  EXPECT_EQ(Stalls(relay, Leg::kUpstreamRead), 1u);  // once a reply
  EXPECT_EQ(relay.Side(Side::kUpstream).quick_acks, 2u);
  EXPECT_GE(At(relay.Of(Command::kGet).legs, Leg::kUpstreamRead).sum, 60'000'000u);
}

// --- back-pressure ---

TEST(BackPressureTest, AClientIsNotReadWhileMemcachedTakesNothing) {
  Gate gate;
  size_t expected = 0;  // known when the gate opens
  Relay relay([&](Peer& peer, int) {
    gate.Wait();
    peer.ReadBytes(expected);
    peer.Write("VERSION 1\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  const std::string set =
      absl::StrCat("set k 0 0 100000 noreply\r\n", std::string(100000, 'v'), "\r\n");
  // Until the kernel takes no more: all buffers on the way are full.
  constexpr size_t kMost = 100 << 20;
  size_t sent = 0, stuck_at = 0;
  const auto stuck = [&] {
    while (sent < kMost) {
      const size_t took = client.SendSome(set.substr(sent % set.size()));
      if (took == 0) break;
      sent += took;
    }
    const bool same = stuck_at == sent && relay.Side(Side::kUpstream).writes > 0;
    stuck_at = sent;
    absl::SleepFor(absl::Milliseconds(20));
    return same;
  };
  ASSERT_TRUE(test::Eventually(stuck));
  ASSERT_LT(sent, kMost);
  EXPECT_LE(relay.Side(Side::kClient).received_bytes - relay.Side(Side::kUpstream).sent_bytes,
            kScratch + SessionLimits().hold_limit);
  const uint64_t sets = sent / set.size() + 1;  // the last one begun, or not yet
  expected = sets * set.size() + 9;
  gate.Open();
  ASSERT_TRUE(client.Send(set.substr(sent % set.size())));
  EXPECT_EQ(client.Ask("version\r\n"), "VERSION 1\r\n");
  EXPECT_TRUE(relay.Recorded(Command::kSet, Result::kNone, sets));
  EXPECT_EQ(relay.Upstream().received().size(), expected);
}

// A client that reads nothing for a while, then all of a large value; how many stalls that were.
uint64_t StallsOfASlowReader() {
  const std::string value(32 << 20, 'v');
  Relay relay([&value](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Write(absl::StrCat("VALUE a 0 ", value.size(), "\r\n"));
    peer.Write(value);
    peer.Write("\r\nEND\r\n");
    peer.StayOpen();
  });
  test::ConnectOptions slow;
  slow.receive_buffer = 64 << 10;
  TcpClient client = relay.Connect(0, slow);
  client.Send("get a\r\n");
  uint64_t before = 0;
  const auto stuck = [&] {
    const uint64_t received = relay.Side(Side::kUpstream).received_bytes;
    const bool same = received > 0 && received == before;
    before = received;
    absl::SleepFor(kStall);
    return same;
  };
  EXPECT_TRUE(test::Eventually(stuck));
  EXPECT_LT(before, value.size());
  EXPECT_LE(before - relay.Side(Side::kClient).sent_bytes, kScratch);
  EXPECT_TRUE(client.ReadUntil("\r\nEND\r\n"));
  EXPECT_TRUE(client.received() ==
              absl::StrCat("VALUE a 0 ", value.size(), "\r\n", value, "\r\nEND\r\n"));
  EXPECT_TRUE(relay.Recorded(Command::kGet, Result::kHit));
  return Stalls(relay, Leg::kUpstreamRead);
}

TEST(BackPressureTest, MemcachedIsNotReadWhileTheClientTakesNothingAndThatIsNoStallOfIts) {
  // A busy machine can keep the upstream's thread waiting, which is one: more than one look.
  EXPECT_TRUE(StallsOfASlowReader() == 0 || StallsOfASlowReader() == 0 ||
              StallsOfASlowReader() == 0);
}

// An upstream that begins to answer when the gate opens: `reply` to each line.
test::ScriptedServer::Behaviour AnswersLate(const Gate* gate, const std::string& reply) {
  return [gate, reply](Peer& peer, int) {
    gate->Wait();
    while (!peer.ReadUntil("\n").empty() && peer.Write(reply)) {
    }
  };
}

std::string Times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(BackPressureTest, ExchangesUnderWayAreBounded) {
  constexpr int kRequests = 20'000;
  const std::string request = "get a-key-of-usual-size\r\n";
  // The limit, and what one read more can bring.
  const size_t most = 8192 + (64 << 10) / request.size() + 1;
  Gate gate;
  Relay relay(AnswersLate(&gate, "END\r\n"));
  TcpClient client = relay.Connect();
  const std::string requests = Times(kRequests, request), replies = Times(kRequests, "END\r\n");
  size_t sent = 0;
  ASSERT_TRUE(test::Eventually([&] {
    sent += client.SendSome(absl::string_view(requests).substr(sent));
    return relay.Side(Side::kClient).received_bytes >= 8192 * request.size();
  }));
  EXPECT_LE(relay.Side(Side::kClient).received_bytes, most * request.size());
  gate.Open();
  ASSERT_TRUE(client.Send(absl::string_view(requests).substr(sent)));
  ASSERT_TRUE(client.ReadBytes(replies.size()));
  EXPECT_TRUE(client.received() == replies);
  EXPECT_TRUE(relay.Recorded(Command::kGet, Result::kMiss, kRequests));
}

// The shortest requests there are: one read brings more than may be under way.
TEST(BackPressureTest, AFloodOfEmptyLinesIsForwardedAndNoLongerTimed) {
  constexpr int kRequests = 40'000;
  Gate gate;
  Relay relay(AnswersLate(&gate, "ERROR\r\n"));
  TcpClient client = relay.Connect();
  ASSERT_TRUE(client.Send(std::string(kRequests, '\n')));
  ASSERT_TRUE(relay.Sent(Side::kUpstream, kRequests));
  gate.Open();
  const std::string replies = Times(kRequests, "ERROR\r\n");
  ASSERT_TRUE(client.ReadBytes(replies.size()));
  EXPECT_TRUE(client.received() == replies);
  EXPECT_EQ(At(relay.Counts().sessions.tunnels, protocol::OpaqueReason::kUnsure), 1u);
  const uint64_t timed = relay.Requests(Command::kOther, Result::kError);
  EXPECT_GE(timed, 8192u);
  EXPECT_LE(timed, 16384u);
}

// --- memcached's ways to end ---

TEST(UpstreamEndTest, WhatCameBeforeTheEndIsDelivered) {
  Relay relay([](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Write("VALUE a 0 5\r\nhe");
  });
  TcpClient client = relay.Connect();
  client.Send("get a\r\nget b\r\n");
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.received(), "VALUE a 0 5\r\nhe");
  // The server closes with a request unread, which the kernel may tell as a reset.
  EXPECT_TRUE(test::Eventually([&] {
    return relay.Closed(CloseCause::kUpstreamClosed) + relay.Closed(CloseCause::kUpstreamReset) ==
           1;
  }));
  EXPECT_EQ(relay.Requests(Command::kGet, Result::kAborted), 2u);
}

TEST(UpstreamEndTest, AnIdleConnectionEndsWithMemcacheds) {
  Relay relay([](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Write("END\r\n");
  });
  TcpClient client = relay.Connect();
  client.Send("get a\r\n");
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.received(), "END\r\n");
  EXPECT_EQ(client.ending(), Ending::kEof);
  EXPECT_TRUE(relay.HasClosed(CloseCause::kUpstreamClosed));
  EXPECT_EQ(relay.Requests(Command::kGet, Result::kAborted), 0u);
}

TEST(UpstreamEndTest, AResetReachesTheClient) {
  Relay relay([](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Reset();
  });
  TcpClient client = relay.Connect();
  client.Send("get a\r\n");
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.ending(), Ending::kReset);
  EXPECT_TRUE(relay.HasClosed(CloseCause::kUpstreamReset));
  EXPECT_EQ(relay.Requests(Command::kGet, Result::kAborted), 1u);
}

TEST(UpstreamEndTest, ASlowClientGetsAllOfItBeforeTheEnd) {
  const std::string value(8 << 20, 'v');
  Relay relay([&value](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Write(absl::StrCat("VALUE a 0 ", value.size(), "\r\n"));
    peer.Write(value);
  });
  test::ConnectOptions slow;
  slow.receive_buffer = 64 << 10;
  TcpClient client = relay.Connect(0, slow);
  client.Send("get a\r\n");
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.ending(), Ending::kEof);
  EXPECT_TRUE(client.received() == absl::StrCat("VALUE a 0 ", value.size(), "\r\n", value));
}

// --- connecting ---

TEST(ConnectTest, ARefusedConnectIsAResetForTheClient) {
  test::Fd listening = test::ListenOn(test::Port(0));
  const test::Endpoint nobody = test::Port(test::LocalPort(listening));
  listening.Close();
  Relay relay(nobody);
  TcpClient client = relay.Connect();
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.ending(), Ending::kReset);
  EXPECT_TRUE(relay.HasClosed(CloseCause::kUpstreamRefused));
  EXPECT_TRUE(test::Eventually([&] { return relay.worker().sessions() == 0; }));
}

TEST(ConnectTest, AUnixSocketThatIsNotThereRefuses) {
  const test::TempDir directory;
  Relay relay(test::UnixPath(directory.File("none")));
  TcpClient client = relay.Connect();
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_TRUE(relay.HasClosed(CloseCause::kUpstreamRefused));
}

TEST(ConnectTest, AConnectThatTakesTooLongEndsTheSession) {
  const test::Fd listening = test::ListenOn(test::Port(0), /*backlog=*/0);
  const test::Endpoint full = test::Port(test::LocalPort(listening));
  const test::Fd filler = test::ConnectTo(full);
  SessionLimits limits;
  limits.connect_timeout = absl::Milliseconds(100);
  Relay relay(full, limits);
  const absl::Time started = absl::Now();
  TcpClient client = relay.Connect();
  client.Send("get a\r\n");
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_GE(absl::Now() - started, absl::Milliseconds(90));
  EXPECT_TRUE(relay.HasClosed(CloseCause::kConnectTimeout));
  EXPECT_EQ(relay.Requests(Command::kGet, Result::kAborted), 1u);
}

TEST(ConnectTest, AClientCanGiveUpMeanwhile) {
  const test::Fd listening = test::ListenOn(test::Port(0), /*backlog=*/0);
  const test::Endpoint full = test::Port(test::LocalPort(listening));
  const test::Fd filler = test::ConnectTo(full);
  Relay relay(full);
  TcpClient client = relay.Connect();
  client.Reset();
  EXPECT_TRUE(relay.HasClosed(CloseCause::kClientReset));
  EXPECT_TRUE(test::Eventually([&] { return relay.worker().sessions() == 0; }));
}

TEST(ConnectTest, WithoutADescriptorForMemcachedTheSessionEnds) {
  Relay relay(AnswerAtOnce);
  const test::Fd listening = test::ListenOn(test::Port(0));
  TcpClient client(test::Port(test::LocalPort(listening)));
  io::Socket accepted(accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK));
  {
    const io::NoDescriptorsLeft none;
    relay.worker().Adopt(0, std::move(accepted), 0);
    EXPECT_TRUE(relay.HasClosed(CloseCause::kDescriptorLimit));
  }
  ASSERT_TRUE(client.ReadToEnd());
  TcpClient next = relay.Connect();
  EXPECT_EQ(next.Ask("get a\r\n"), "END\r\n");
}

TEST(ConnectTest, AUnixSocketWorksLikeAPort) {
  const test::TempDir directory;
  const test::ScriptedServer server(AnswerAtOnce, test::UnixPath(directory.File("socket")));
  Relay relay(server.endpoint());
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("set k 0 0 5\r\nhello\r\n"), "STORED\r\n");
  EXPECT_TRUE(relay.Recorded(Command::kSet, Result::kStored));
  EXPECT_EQ(relay.Side(Side::kUpstream).nodelay_failures, 0u);
}

}  // namespace
}  // namespace mcscope
