// What a session does for its client: framing, hold, treatments, the ways to end.
#include "proxy/session.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/proxy/relay.h"
#include "tests/support/binary_packet.h"
#include "tests/support/temp_dir.h"

namespace mcscope {
namespace {

using metrics::Arm;
using metrics::CloseCause;
using metrics::Leg;
using metrics::Side;
using protocol::Command;
using protocol::OpaqueReason;
using protocol::Result;
using test::AnswerAtOnce;
using test::Ending;
using test::Peer;
using test::TcpClient;
using ::testing::ElementsAre;
using ::testing::SizeIs;

Settings With(bool coalesce, bool quickack = true) {
  Settings settings;
  settings.treatments.coalesce = coalesce;
  settings.treatments.quickack = quickack;
  return settings;
}

SessionLimits HoldAtMost(size_t bytes) {
  SessionLimits limits;
  limits.hold_limit = bytes;
  return limits;
}

// Sends each piece when the proxy has read the one before.
void SendApart(const Relay& relay, TcpClient* client, const std::vector<std::string>& pieces) {
  uint64_t sent = relay.Side(Side::kClient).received_bytes;
  for (const std::string& piece : pieces) {
    ASSERT_TRUE(client->Send(piece));
    sent += piece.size();
    ASSERT_TRUE(relay.Received(Side::kClient, sent));
  }
}

// --- a request and its reply ---

TEST(SessionTest, ARequestAndItsReplyAreForwardedAndRecorded) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("set k 0 0 5\r\nhello\r\n"), "STORED\r\n");
  EXPECT_EQ(client.Ask("get k\r\n"), "END\r\n");
  ASSERT_TRUE(relay.Recorded(Command::kSet, Result::kStored));
  ASSERT_TRUE(relay.Recorded(Command::kGet, Result::kMiss));
  EXPECT_EQ(relay.Upstream().received(), "set k 0 0 5\r\nhello\r\nget k\r\n");
  EXPECT_EQ(relay.Counts().sessions.opened, 1u);
  EXPECT_EQ(relay.Side(Side::kClient).received_bytes, 27u);
  EXPECT_EQ(relay.Side(Side::kUpstream).sent_bytes, 27u);
  EXPECT_EQ(relay.Side(Side::kUpstream).received_bytes, 13u);
  EXPECT_EQ(relay.Side(Side::kClient).sent_bytes, 13u);
  EXPECT_EQ(relay.Side(Side::kClient).nodelay_failures, 0u);
  EXPECT_EQ(relay.Side(Side::kUpstream).nodelay_failures, 0u);
}

TEST(SessionTest, TheLegsOfAnExchangeAddUpToItsTotal) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect();
  for (int i = 0; i < 20; ++i) client.Ask("set k 0 0 5\r\nhello\r\n");
  ASSERT_TRUE(relay.Recorded(Command::kSet, Result::kStored, 20));
  const auto counts = relay.Of(Command::kSet);
  uint64_t legs = 0;
  for (const auto& leg : counts.legs) {
    EXPECT_EQ(Total(leg), 20u);
    legs += leg.sum;
  }
  EXPECT_EQ(legs, At(counts.durations, Result::kStored).sum);
}

TEST(SessionTest, APipelineIsAnsweredInItsOrder) {
  Relay relay([](Peer& peer, int) {
    for (int i = 0; i < 3; ++i) peer.ReadUntil("\r\n");
    peer.Write("VALUE a 0 1\r\nA\r\nEND\r\nEND\r\nVERSION 1\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("get a\r\nget b\r\nversion\r\n", "VERSION 1\r\n"),
            "VALUE a 0 1\r\nA\r\nEND\r\nEND\r\nVERSION 1\r\n");
  EXPECT_TRUE(relay.Recorded(Command::kGet, Result::kHit));
  EXPECT_TRUE(relay.Recorded(Command::kGet, Result::kMiss));
  EXPECT_TRUE(relay.Recorded(Command::kVersion, Result::kOk));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 1u);  // what came in one read leaves in one write
}

TEST(SessionTest, QuietBinaryRequestsEndWhenALaterReplyProvesTheirSilence) {
  test::BinaryPacket reply;
  reply.magic = protocol::kBinaryReplyMagic;
  reply.opcode = test::kOpNoop;
  const std::string noop_reply = reply.Bytes();
  reply.opcode = test::kOpGetQ;
  reply.opaque = 7;
  reply.extras = "flag";
  const std::string hit = reply.Bytes();
  Relay relay([&](Peer& peer, int) {
    peer.ReadUntil(test::Binary(test::kOpNoop));
    peer.Write(hit + noop_reply);
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask(test::Binary(test::kOpSetQ, "a", "value") +
                           test::Binary(test::kOpGetQ, "a", "", 6) +
                           test::Binary(test::kOpGetQ, "a", "", 7) + test::Binary(test::kOpNoop),
                       noop_reply),
            hit + noop_reply);
  EXPECT_TRUE(relay.Recorded(Command::kSet, Result::kNone));
  EXPECT_TRUE(relay.Recorded(Command::kGet, Result::kNone));
  EXPECT_TRUE(relay.Recorded(Command::kGet, Result::kHit));
  EXPECT_TRUE(relay.Recorded(Command::kNoop, Result::kOk));
}

// --- hold ---

TEST(HoldTest, ASplitBinaryRequestLeavesInOneWrite) {
  Relay relay([](Peer& peer, int) { peer.StayOpen(); }, With(/*coalesce=*/true));
  TcpClient client = relay.Connect();
  const std::string set = test::Binary(test::kOpSet, "k", "hello");
  SendApart(relay, &client, {set.substr(0, 7), set.substr(7, 17), set.substr(24, 9)});
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 0u);
  SendApart(relay, &client, {set.substr(33)});
  ASSERT_TRUE(relay.Sent(Side::kUpstream, set.size()));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 1u);
  EXPECT_EQ(relay.Side(Side::kClient).quick_acks, 3u);
}

TEST(HoldTest, ABinaryRequestThatIsRefusedForItsHeaderIsNotHeld) {
  Relay relay([](Peer& peer, int) { peer.StayOpen(); }, With(/*coalesce=*/true));
  TcpClient client = relay.Connect();
  const std::string set = test::Binary(test::kOpSet, "", "hello");
  SendApart(relay, &client, {set.substr(0, 24)});
  EXPECT_TRUE(relay.Sent(Side::kUpstream, 24));
}

TEST(HoldTest, ASplitRequestLeavesInOneWrite) {
  Relay relay(AnswerAtOnce, With(/*coalesce=*/true));
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 5\r\n", "hello", "\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_THAT(relay.Upstream().reads(), ElementsAre("set k 0 0 5\r\nhello\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 1u);
  ASSERT_TRUE(relay.Recorded(Command::kSet, Result::kStored));
  const auto arm = At(relay.Counts().arms, Arm::kA);
  EXPECT_EQ(arm.split_requests, 1u);
  EXPECT_EQ(arm.request_reads.sum, 3u);
}

TEST(HoldTest, WithoutCoalesceEveryReadGoesOnAtOnce) {
  Relay relay(AnswerAtOnce, With(/*coalesce=*/false));
  TcpClient client = relay.Connect();
  const std::vector<std::string> pieces = {"set k 0 0 5\r\n", "hello", "\r\n"};
  SendApart(relay, &client, pieces);
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 3u);
  EXPECT_EQ(relay.Upstream().received(), "set k 0 0 5\r\nhello\r\n");
}

TEST(HoldTest, ALineCanBeHeldInTheMiddleOfAWord) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"ge", "t a\r", "\n"});
  ASSERT_TRUE(client.ReadUntil("END\r\n"));
  EXPECT_THAT(relay.Upstream().reads(), ElementsAre("get a\r\n"));
}

TEST(HoldTest, BehindTheLastByteEverythingThatIsThereGoesAlong) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 5\r\nhel", "lo\r\nget a\r\nget b\r\n"});
  ASSERT_TRUE(client.ReadUntil("END\r\nEND\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 1u);
}

TEST(HoldTest, AChunkThatCompletesARequestGoesOnWhole) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"get a\r\nset k 0 0 5\r\nhel"});
  // All of it, the beginning of the set included.
  EXPECT_TRUE(test::Eventually([&] { return relay.Upstream().received().size() == 23; }));
  ASSERT_TRUE(client.ReadUntil("END\r\n"));
  SendApart(relay, &client, {"lo\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 2u);
}

TEST(HoldTest, ARequestThatMemcachedRefusesIsNotHeld) {
  Relay relay([](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Write("CLIENT_ERROR bad command line format\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  // The client waits for the error before it would send the data.
  EXPECT_EQ(client.Ask("set k x 0 5\r\n"), "CLIENT_ERROR bad command line format\r\n");
  EXPECT_TRUE(relay.Recorded(Command::kSet, Result::kError));
}

TEST(HoldTest, BeyondTheLimitAValueIsStreamed) {
  Relay relay(AnswerAtOnce, {}, HoldAtMost(1000));
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 5000\r\n", std::string(900, 'a')});
  EXPECT_EQ(relay.Side(Side::kUpstream).sent_bytes, 0u);  // 916 bytes are held
  SendApart(relay, &client, {std::string(100, 'b')});
  EXPECT_TRUE(relay.Sent(Side::kUpstream, 1016));
  SendApart(relay, &client, {std::string(4000, 'c') + "\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_EQ(relay.Upstream().received(), "set k 0 0 5000\r\n" + std::string(900, 'a') +
                                             std::string(100, 'b') + std::string(4000, 'c') +
                                             "\r\n");
  EXPECT_TRUE(relay.Recorded(Command::kSet, Result::kStored));
}

TEST(HoldTest, OfAStreamedValueTheTailLeavesWithItsEnd) {
  Relay relay(AnswerAtOnce, {}, HoldAtMost(1000));
  TcpClient client = relay.Connect();
  const std::string head = "set k 0 0 5000\r\n", value(5000, 'v');
  SendApart(relay, &client, {head + value});
  ASSERT_TRUE(relay.Sent(Side::kUpstream, head.size() + 4000));
  EXPECT_EQ(relay.Side(Side::kUpstream).sent_bytes, head.size() + 4000);  // 1,000 bytes wait
  SendApart(relay, &client, {"\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 2u);  // not one for the CRLF alone
  EXPECT_EQ(relay.Upstream().received(), head + value + "\r\n");
}

TEST(HoldTest, WithALimitOfZeroNothingIsHeld) {
  Relay relay(AnswerAtOnce, {}, HoldAtMost(0));
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 5\r\n", "hello", "\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 3u);
}

TEST(HoldTest, ASmallRequestBehindALargeOneIsHeldAgain) {
  Relay relay(AnswerAtOnce, {}, HoldAtMost(1000));
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("set k 0 0 5000\r\n" + std::string(5000, 'v') + "\r\n"), "STORED\r\n");
  const uint64_t writes = relay.Side(Side::kUpstream).writes;
  SendApart(relay, &client, {"set k 0 0 5\r\n", "hello", "\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\nSTORED\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, writes + 1);
}

// --- quick acknowledgements and stalls ---

TEST(QuickAckTest, EachReadThatLeavesARequestIncompleteIsAcknowledgedAtOnce) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 5\r\n", "hello", "\r\n", "get k\r\n"});
  ASSERT_TRUE(client.ReadUntil("END\r\n"));
  EXPECT_EQ(relay.Side(Side::kClient).quick_acks, 2u);  // a reply carries the other two
}

TEST(QuickAckTest, SwitchedOffNoneIsSent) {
  Relay relay(AnswerAtOnce, With(/*coalesce=*/true, /*quickack=*/false));
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 5\r\n", "hello", "\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_EQ(relay.Side(Side::kClient).quick_acks, 0u);
}

TEST(StallTest, APauseWithinARequestIsCountedOnce) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 9\r\n"});
  absl::SleepFor(absl::Milliseconds(35));  // the stall itself
  SendApart(relay, &client, {"hell"});
  absl::SleepFor(absl::Milliseconds(35));
  SendApart(relay, &client, {"o you\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  ASSERT_TRUE(relay.Recorded(Command::kSet, Result::kStored));
  EXPECT_EQ(At(At(relay.Counts().arms, Arm::kA).stalls, Leg::kClientRead), 1u);
  EXPECT_GE(At(relay.Of(Command::kSet).legs, Leg::kClientRead).sum, 70'000'000u);
}

TEST(StallTest, APauseBetweenRequestsIsNone) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect();
  client.Ask("get a\r\n");
  absl::SleepFor(absl::Milliseconds(35));
  client.Ask("get b\r\n");
  ASSERT_TRUE(relay.Recorded(Command::kGet, Result::kMiss, 2));
  EXPECT_EQ(At(At(relay.Counts().arms, Arm::kA).stalls, Leg::kClientRead), 0u);
}

// --- settings ---

TEST(SettingsChangeTest, HoldsFromTheNextRequestOn) {
  Relay relay(AnswerAtOnce, With(/*coalesce=*/true));
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 5\r\n"});
  relay.Apply(With(/*coalesce=*/false));
  SendApart(relay, &client, {"hello", "\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 1u);  // still held until complete
  SendApart(relay, &client, {"set k 0 0 5\r\n", "hello", "\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\nSTORED\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 4u);
}

TEST(SettingsChangeTest, TheArmIsThatOfTheRequestsFirstByte) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect(/*lot=*/10);
  SendApart(relay, &client, {"set k 0 0 5\r\n"});
  Settings split;
  split.ab = *Overrides::Parse("nodelay=off");
  split.ab_percent = 11;
  relay.Apply(split);
  SendApart(relay, &client, {"hello\r\n"});
  ASSERT_TRUE(client.ReadUntil("STORED\r\n"));
  client.Ask("get k\r\n");
  ASSERT_TRUE(
      test::Eventually([&] { return relay.Requests(Command::kGet, Result::kMiss, Arm::kB) == 1; }));
  EXPECT_EQ(relay.Requests(Command::kSet, Result::kStored, Arm::kA), 1u);
}

TEST(SettingsChangeTest, TheLotDecidesTheArm) {
  Settings split;
  split.ab = *Overrides::Parse("coalesce=off");
  split.ab_percent = 50;
  Relay relay(AnswerAtOnce, split);
  TcpClient b = relay.Connect(/*lot=*/49), a = relay.Connect(/*lot=*/50);
  SendApart(relay, &a, {"set k 0 0 1\r\n", "1\r\n"});
  ASSERT_TRUE(a.ReadUntil("STORED\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 1u);
  SendApart(relay, &b, {"set k 0 0 1\r\n", "1\r\n"});
  ASSERT_TRUE(b.ReadUntil("STORED\r\n"));
  EXPECT_EQ(relay.Side(Side::kUpstream).writes, 3u);
  EXPECT_TRUE(relay.Recorded(Command::kSet, Result::kStored, 1, Arm::kA));
  EXPECT_TRUE(relay.Recorded(Command::kSet, Result::kStored, 1, Arm::kB));
}

// --- quick ACKs behind complete requests ---

TEST(QuickAckTest, IsArmedWhenNoReplyIsSureToCarryTheAck) {
  Relay relay([](Peer& peer, int) { peer.StayOpen(); });
  TcpClient client = relay.Connect();
  uint64_t sent = 0;
  // What was forwarded has had its quick ACK, if it gets one.
  const auto quick_acks_after = [&](const std::string& requests) {
    client.Send(requests);
    sent += requests.size();
    EXPECT_TRUE(relay.Sent(Side::kUpstream, sent));
    return relay.Side(Side::kClient).quick_acks;
  };
  EXPECT_EQ(quick_acks_after("delete a noreply\r\n"), 1u);
  EXPECT_EQ(quick_acks_after("mg a q\r\n"), 2u);
  EXPECT_EQ(quick_acks_after("mg a q\r\nmn\r\n"), 2u);
  EXPECT_EQ(quick_acks_after("version\r\nmg a q\r\n"), 3u);
}

TEST(QuickAckTest, IsLeftAloneWhenTurnedOff) {
  Relay relay([](Peer& peer, int) { peer.StayOpen(); },
              With(/*coalesce=*/true, /*quickack=*/false));
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"delete a noreply\r\n", "set a 0 0 1\r\n", "1\r\n"});
  ASSERT_TRUE(relay.Sent(Side::kUpstream, 34));
  EXPECT_EQ(relay.Side(Side::kClient).quick_acks, 0u);
}

// --- tunnels ---

TEST(TunnelTest, WhatIsNeitherTextNorBinaryGoesThroughAsItComes) {
  Relay relay([](Peer& peer, int) {
    peer.ReadBytes(5);
    peer.Write("\x16 any answer");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("\x16\x03\x01\x02\n", "any answer"), "\x16 any answer");
  EXPECT_EQ(relay.Upstream().received(), "\x16\x03\x01\x02\n");
  EXPECT_EQ(At(relay.Counts().sessions.tunnels, OpaqueReason::kTls), 1u);
}

TEST(TunnelTest, ABinaryReplyThatCanNotBeFramedIsDelivered) {
  Relay relay([](Peer& peer, int) {
    peer.ReadBytes(24);
    peer.Write("ERROR\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask(test::Binary(test::kOpNoop)), "ERROR\r\n");
  EXPECT_EQ(At(relay.Counts().sessions.tunnels, OpaqueReason::kReply), 1u);
}

TEST(TunnelTest, RepliesToWhatWasFramedBeforeAreStillTimed) {
  Relay relay([](Peer& peer, int) {
    peer.ReadUntil("watch\r\n");
    peer.Write("END\r\n");
    peer.Write("OK\r\nts=1 some line\r\nts=2 another\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("get a\r\nwatch\r\n", "another\r\n"),
            "END\r\nOK\r\nts=1 some line\r\nts=2 another\r\n");
  EXPECT_TRUE(relay.Recorded(Command::kGet, Result::kMiss));
  EXPECT_EQ(At(relay.Counts().sessions.tunnels, OpaqueReason::kWatch), 1u);
}

TEST(TunnelTest, UnsolicitedWordsOfMemcachedAreDelivered) {
  Relay relay([](Peer& peer, int) {
    peer.Write("ERROR Too many open connections\r\n");
    peer.ReadUntil("\r\n");
    peer.Write("OK\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  ASSERT_TRUE(client.ReadUntil("connections\r\n"));
  EXPECT_EQ(At(relay.Counts().sessions.tunnels, OpaqueReason::kUnsolicited), 1u);
  EXPECT_EQ(client.Ask("flush_all\r\n"), "OK\r\n");  // forwarded, no longer timed
  EXPECT_EQ(relay.Requests(Command::kFlushAll, Result::kOk), 0u);
}

TEST(TunnelTest, WhatWasHeldLeavesWhenTheSessionBecomesOne) {
  Gate gate;
  Relay relay([&gate](Peer& peer, int) {
    gate.Wait();
    peer.Write("SERVER_ERROR out of memory\r\n");
    peer.ReadUntil("never");
  });
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 5\r\nhel"});
  gate.Open();
  ASSERT_TRUE(client.ReadUntil("memory\r\n"));
  EXPECT_TRUE(test::Eventually([&] { return relay.Upstream().received().size() == 16; }));
  SendApart(relay, &client, {"l"});
  EXPECT_TRUE(test::Eventually([&] { return relay.Upstream().received().size() == 17; }));
}

TEST(TunnelTest, AReplyThatFitsNoRequestEndsTheTimingAndNothingElse) {
  Relay relay([](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    peer.Write("STORED\r\n");  // to a get
    peer.ReadUntil("\r\n");
    peer.Write("END\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("get a\r\n"), "STORED\r\n");
  EXPECT_EQ(client.Ask("get b\r\n"), "END\r\n");
  EXPECT_EQ(At(relay.Counts().sessions.tunnels, OpaqueReason::kReply), 1u);
  EXPECT_EQ(relay.Requests(Command::kGet, Result::kMiss), 0u);
  EXPECT_TRUE(relay.Recorded(Command::kGet, Result::kAborted));
}

// --- early replies ---

TEST(EarlyReplyTest, AnAnswerToAHalfSentRequestIsDeliveredAndCounted) {
  Gate gate;
  Relay relay(
      [&gate](Peer& peer, int) {
        gate.Wait();
        peer.Write("SERVER_ERROR out of memory storing object\r\n");
        peer.ReadUntil("\r\nend\r\n");
        peer.Write("ERROR\r\n");
        peer.StayOpen();
      },
      {}, HoldAtMost(100));
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 500\r\n" + std::string(300, 'v')});
  gate.Open();
  ASSERT_TRUE(client.ReadUntil("object\r\n"));
  EXPECT_TRUE(relay.Recorded(Command::kSet, Result::kError));
  // The rest of the value is forwarded, and the next request is paired with its own reply.
  SendApart(relay, &client, {std::string(200, 'v') + "\r\n", "end\r\n"});
  ASSERT_TRUE(client.ReadUntil("object\r\nERROR\r\n"));
  ASSERT_TRUE(relay.Recorded(Command::kOther, Result::kError));
  EXPECT_EQ(relay.Requests(Command::kSet, Result::kError), 1u);
  for (const auto& leg : relay.Of(Command::kSet).legs) EXPECT_EQ(Total(leg), 0u);
  for (const uint64_t tunnels : relay.Counts().sessions.tunnels) EXPECT_EQ(tunnels, 0u);
}

// --- the client's ways to end ---

TEST(ClientEndTest, AHalfCloseFollowsTheRequestAndTheReplyStillComes) {
  Relay relay([](Peer& peer, int) {
    const std::string request = peer.ReadUntil("\r\n");
    EXPECT_EQ(peer.ReadBytes(1), "");  // the end of the client's stream
    peer.Write("END\r\n");
  });
  TcpClient client = relay.Connect();
  client.Send("get a\r\n");
  client.HalfClose();
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.received(), "END\r\n");
  EXPECT_EQ(client.ending(), Ending::kEof);
  EXPECT_TRUE(relay.HasClosed(CloseCause::kClientClosed));
  EXPECT_EQ(relay.Requests(Command::kGet, Result::kMiss), 1u);
}

TEST(ClientEndTest, WhatIsHeldGoesBeforeTheEnd) {
  Relay relay([](Peer& peer, int) { peer.ReadUntil("never"); });
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"set k 0 0 5\r\nhel"});
  client.HalfClose();
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.ending(), Ending::kEof);
  EXPECT_EQ(relay.Upstream().received(), "set k 0 0 5\r\nhel");
  EXPECT_TRUE(relay.HasClosed(CloseCause::kClientClosed));
  EXPECT_EQ(relay.Requests(Command::kSet, Result::kAborted), 1u);
}

TEST(ClientEndTest, AResetReachesMemcached) {
  Relay relay([](Peer& peer, int) { peer.ReadUntil("never"); });
  TcpClient client = relay.Connect();
  SendApart(relay, &client, {"get a\r\nget b\r\nset k 0 0 5\r\nhel"});
  client.Reset();
  EXPECT_TRUE(test::Eventually([&] { return relay.Upstream().ended(); }));
  EXPECT_TRUE(relay.HasClosed(CloseCause::kClientReset));
  EXPECT_EQ(relay.Requests(Command::kGet, Result::kAborted), 2u);
  EXPECT_EQ(relay.Requests(Command::kSet, Result::kAborted), 1u);
}

TEST(ClientEndTest, QuitIsTheClientsOwnWish) {
  Relay relay([](Peer& peer, int) { peer.ReadUntil("quit\r\n"); });
  TcpClient client = relay.Connect();
  client.Send("quit\r\n");
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.ending(), Ending::kEof);
  EXPECT_TRUE(relay.HasClosed(CloseCause::kClientClosed));
}

TEST(ClientEndTest, ASessionThatSaidNothingIsNoExchange) {
  Relay relay([](Peer& peer, int) { peer.ReadUntil("never"); });
  relay.Connect().Close();
  EXPECT_TRUE(relay.HasClosed(CloseCause::kClientClosed));
  EXPECT_TRUE(test::Eventually([&] { return relay.worker().sessions() == 0; }));
}

}  // namespace
}  // namespace mcscope
