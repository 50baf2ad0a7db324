#include "proxy/worker.h"

#include <atomic>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/proxy/relay.h"

namespace mcscope {
namespace {

using metrics::CloseCause;
using metrics::Side;
using protocol::Command;
using protocol::Result;
using test::AnswerAtOnce;
using test::Ending;
using test::Peer;
using test::TcpClient;

TEST(WorkerTest, CountsSessionsFromTheMomentTheyAreHandedOver) {
  Relay relay(AnswerAtOnce);
  EXPECT_EQ(relay.worker().sessions(), 0u);
  std::vector<TcpClient> clients;
  for (size_t i = 1; i <= 5; ++i) {
    clients.push_back(relay.Connect());
    EXPECT_EQ(relay.worker().sessions(), i);
  }
  clients.erase(clients.begin() + 1, clients.begin() + 3);
  EXPECT_TRUE(test::Eventually([&] { return relay.worker().sessions() == 3; }));
  for (TcpClient& client : clients) EXPECT_EQ(client.Ask("get a\r\n"), "END\r\n");
  clients.clear();
  EXPECT_TRUE(test::Eventually([&] { return relay.worker().sessions() == 0; }));
  EXPECT_EQ(relay.Closed(CloseCause::kClientClosed), 5u);
}

TEST(WorkerTest, ManySessionsComeAndGoAtOnce) {
  Relay relay(AnswerAtOnce);
  for (int round = 0; round < 5; ++round) {
    std::vector<TcpClient> clients;
    for (int i = 0; i < 40; ++i) clients.push_back(relay.Connect());
    for (TcpClient& client : clients) client.Send("get a\r\n");
    for (size_t i = 0; i < clients.size(); i += 3) clients[i].Reset();
    for (size_t i = 0; i < clients.size(); ++i) {
      if (i % 3 == 0) continue;
      EXPECT_TRUE(clients[i].ReadUntil("END\r\n"));
    }
  }
  EXPECT_TRUE(test::Eventually([&] { return relay.worker().sessions() == 0; }));
  EXPECT_EQ(relay.Counts().sessions.opened, 200u);
}

TEST(WorkerTest, StoppingEndsItsSessions) {
  Relay relay([](Peer& peer, int) { peer.ReadUntil("never"); });
  TcpClient client = relay.Connect();
  client.Send("get a\r\n");
  ASSERT_TRUE(relay.Sent(Side::kUpstream, 7));
  relay.worker().Stop();
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(relay.Closed(CloseCause::kDrain), 1u);
  EXPECT_EQ(relay.Requests(Command::kGet, Result::kAborted), 1u);
  EXPECT_EQ(relay.worker().sessions(), 0u);
}

TEST(WorkerTest, DrainingWithoutSessionsIsOverAtOnce) {
  Relay relay(AnswerAtOnce);
  Gate drained;
  relay.worker().Drain([&] { drained.Open(); });
  EXPECT_TRUE(drained.Wait());
}

TEST(WorkerTest, DrainingEndsIdleSessions) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect();
  EXPECT_EQ(client.Ask("get a\r\n"), "END\r\n");
  Gate drained;
  relay.worker().Drain([&] { drained.Open(); });
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.ending(), Ending::kEof);
  EXPECT_TRUE(drained.Wait());
  EXPECT_EQ(relay.Closed(CloseCause::kDrain), 1u);
}

TEST(WorkerTest, DrainingFinishesWhatIsUnderWay) {
  Gate gate;
  Relay relay([&gate](Peer& peer, int) {
    peer.ReadUntil("get b\r\n");
    gate.Wait();
    peer.Write("END\r\n");
    peer.Write("VALUE b 0 1\r\n1\r\nEND\r\n");
    peer.StayOpen();
  });
  TcpClient client = relay.Connect();
  client.Send("get a\r\nget b\r\n");
  ASSERT_TRUE(relay.Sent(Side::kUpstream, 14));
  std::atomic<bool> drained{false};
  relay.worker().Drain([&] { drained = true; });
  relay.Apply({});  // the drain has begun
  EXPECT_FALSE(drained);
  gate.Open();
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.received(), "END\r\nVALUE b 0 1\r\n1\r\nEND\r\n");
  EXPECT_EQ(client.ending(), Ending::kEof);
  EXPECT_EQ(relay.Requests(Command::kGet, Result::kAborted), 0u);
}

TEST(WorkerTest, DrainingWaitsForTheRestOfARequest) {
  Relay relay(AnswerAtOnce);
  TcpClient client = relay.Connect();
  client.Send("set k 0 0 5\r\nhel");
  ASSERT_TRUE(relay.Received(Side::kClient, 16));
  std::atomic<bool> drained{false};
  relay.worker().Drain([&] { drained = true; });
  client.Send("lo\r\n");
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.received(), "STORED\r\n");
  EXPECT_TRUE(test::Eventually([&] { return drained.load(); }));
}

TEST(WorkerTest, DrainingDoesNotWaitForASilentQuietRequest) {
  Relay relay([](Peer& peer, int) { peer.ReadUntil("never"); });
  TcpClient client = relay.Connect();
  client.Send("mg a v q\r\n");
  ASSERT_TRUE(relay.Sent(Side::kUpstream, 10));
  Gate drained;
  relay.worker().Drain([&] { drained.Open(); });
  EXPECT_TRUE(drained.Wait());
  EXPECT_EQ(relay.Requests(Command::kMg, Result::kNone), 1u);
}

}  // namespace
}  // namespace mcscope
