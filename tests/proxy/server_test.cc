#include "proxy/server.h"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "metrics/recorder_reader.h"
#include "tests/proxy/relay.h"
#include "tests/support/scripted_server.h"
#include "tests/support/tcp_client.h"

namespace mcscope {
namespace {

using metrics::Arm;
using metrics::CloseCause;
using protocol::Command;
using protocol::Result;
using test::AnswerAtOnce;
using test::Ending;
using test::Peer;
using test::ScriptedServer;
using test::TcpClient;
using ::testing::Each;
using ::testing::ElementsAre;

io::Address At(const std::string& text) { return *io::Address::Parse(text); }

RouteOptions RouteTo(const test::Endpoint& upstream, const std::string& name = "default") {
  return {name, At("127.0.0.1:0"), At(upstream.ToString()), "--listen", "--upstream"};
}

Options OptionsFor(const test::Endpoint& upstream, int threads = 1) {
  Options options;
  options.routes = {RouteTo(upstream)};
  options.threads = threads;
  options.drain_timeout = test::kPatience;
  return options;
}

// A server that runs on a thread of its own, and can be told to end as the process is.
class Running {
 public:
  explicit Running(Options options)
      : options_(std::move(options)),
        settings_(options_.settings),
        server_(*Server::Create(options_, &settings_)),
        thread_([this] {
          server_->Run();
          over_ = true;
        }) {}
  ~Running() {
    if (!thread_.joinable()) return;
    Signal();  // drain
    test::Eventually([this] { return server_->draining(); });
    if (!over_) Signal();  // at once
    thread_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static void Signal(int signal = SIGTERM) { kill(getpid(), signal); }
  bool WaitForEnd() {
    if (!test::Eventually([this] { return over_.load(); })) return false;
    thread_.join();
    return true;
  }
  test::Endpoint endpoint(size_t route = 0) const {
    const std::string address = server_->routes()[route].listen.ToString();
    return test::Port(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  }
  TcpClient Connect() const { return TcpClient(endpoint()); }

  Server& operator*() { return *server_; }
  Server* operator->() { return server_.get(); }
  SettingsStore& settings() { return settings_; }

  // Of all workers, and of what no worker got to see.
  metrics::RouteCounts<uint64_t> Counts(size_t route = 0) const {
    metrics::RouteCounts<uint64_t> counts;
    for (const metrics::Recorder* recorder : server_->routes()[route].recorders) {
      metrics::RecorderReader(recorder).AddTo(&counts);
    }
    return counts;
  }
  uint64_t Requests(Command command, Result result, Arm arm, size_t route = 0) const {
    metrics::CommandCounts<uint64_t> counts;
    for (const metrics::Recorder* recorder : server_->routes()[route].recorders) {
      metrics::RecorderReader(recorder).AddTo(command, arm, &counts);
    }
    return mcscope::At(counts.requests, result);
  }
  uint64_t Closed(CloseCause cause) const { return mcscope::At(Counts().sessions.closes, cause); }
  // Sessions that each worker has got so far.
  std::vector<uint64_t> OpenedByWorker() const {
    std::vector<uint64_t> opened;
    const auto& recorders = server_->routes()[0].recorders;
    for (size_t i = 1; i < recorders.size(); ++i) {  // the first is no worker's
      metrics::RouteCounts<uint64_t> counts;
      metrics::RecorderReader(recorders[i]).AddTo(&counts);
      opened.push_back(counts.sessions.opened);
    }
    return opened;
  }

 private:
  const Options options_;
  SettingsStore settings_;
  std::unique_ptr<Server> server_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// Clients whose sessions are open: each has had an answer.
std::vector<TcpClient> ConnectMany(const Running& server, int count) {
  std::vector<TcpClient> clients;
  for (int i = 0; i < count; ++i) {
    clients.push_back(server.Connect());
    EXPECT_EQ(clients.back().Ask("get a\r\n"), "END\r\n");
  }
  return clients;
}

// --- who gets a client ---

TEST(ServerTest, SpreadsClientsEvenly) {
  const ScriptedServer upstream(AnswerAtOnce);
  const Running server(OptionsFor(upstream.endpoint(), /*threads=*/4));
  const std::vector<TcpClient> clients = ConnectMany(server, 20);
  EXPECT_THAT(server.OpenedByWorker(), Each(5u));
}

TEST(ServerTest, SpreadsABurstEvenlyToo) {
  const ScriptedServer upstream(AnswerAtOnce);
  const Running server(OptionsFor(upstream.endpoint(), /*threads=*/4));
  std::vector<TcpClient> clients;
  for (int i = 0; i < 80; ++i) clients.push_back(server.Connect());
  for (TcpClient& client : clients) EXPECT_EQ(client.Ask("get a\r\n"), "END\r\n");
  EXPECT_THAT(server.OpenedByWorker(), Each(20u));
}

TEST(ServerTest, TheNextClientGoesWhereTheFewestAre) {
  const ScriptedServer upstream(AnswerAtOnce);
  const Running server(OptionsFor(upstream.endpoint(), /*threads=*/3));
  std::vector<TcpClient> clients = ConnectMany(server, 9);
  ASSERT_THAT(server.OpenedByWorker(), ElementsAre(3, 3, 3));
  // With the same load everywhere clients go round; these are of one worker.
  clients[1].Close();
  clients[4].Close();
  ASSERT_TRUE(test::Eventually([&] { return server.Closed(CloseCause::kClientClosed) == 2; }));
  // Sessions go at the end of the turn they closed in: the second answer is of a later one.
  clients[7].Ask("get a\r\n");
  clients[7].Ask("get a\r\n");
  const std::vector<TcpClient> next = ConnectMany(server, 2);
  EXPECT_THAT(server.OpenedByWorker(), ElementsAre(3, 5, 3));
}

TEST(ServerTest, TheShareOfArmBIsWhatWasAskedFor) {
  const ScriptedServer upstream(AnswerAtOnce);
  Options options = OptionsFor(upstream.endpoint(), /*threads=*/2);
  options.settings.ab = *Overrides::Parse("coalesce=off");
  options.settings.ab_percent = 30;
  const Running server(options);
  const std::vector<TcpClient> clients = ConnectMany(server, 100);
  EXPECT_TRUE(test::Eventually(
      [&] { return server.Requests(Command::kGet, Result::kMiss, Arm::kB) == 30; }));
  EXPECT_TRUE(test::Eventually(
      [&] { return server.Requests(Command::kGet, Result::kMiss, Arm::kA) == 70; }));
}

// --- limits ---

TEST(ServerTest, OneClientMoreThanAllowedIsClosedAndCounted) {
  const ScriptedServer upstream(AnswerAtOnce);
  Options options = OptionsFor(upstream.endpoint(), /*threads=*/2);
  options.max_sessions = 2;
  const Running server(options);
  std::vector<TcpClient> clients = ConnectMany(server, 2);
  TcpClient third = server.Connect();
  ASSERT_TRUE(third.ReadToEnd());
  EXPECT_EQ(third.received(), "");
  EXPECT_TRUE(test::Eventually([&] { return server.Closed(CloseCause::kSessionLimit) == 1; }));
  EXPECT_EQ(server.Counts().sessions.opened, 3u);
  EXPECT_EQ(upstream.connections(), 2);
  EXPECT_EQ(clients[0].Ask("get a\r\n"), "END\r\n");
  // There is room again once one has gone.
  clients.pop_back();
  EXPECT_TRUE(test::Eventually([&] {
    TcpClient next = server.Connect();
    next.Send("get a\r\n");
    return next.ReadUntil("END\r\n");
  }));
}

// --- routes ---

TEST(ServerTest, EachRouteHasItsUpstreamAndItsCounts) {
  const ScriptedServer first(AnswerAtOnce);
  const ScriptedServer second([](Peer& peer, int) {
    while (!peer.ReadUntil("\r\n").empty()) peer.Write("VALUE a 0 1\r\n2\r\nEND\r\n");
  });
  Options options = OptionsFor(first.endpoint());
  options.routes = {RouteTo(first.endpoint(), "one"), RouteTo(second.endpoint(), "two")};
  Running server(options);
  EXPECT_EQ(server->routes()[0].name, "one");
  EXPECT_EQ(server->routes()[1].name, "two");
  EXPECT_EQ(server->routes()[1].upstream.ToString(), second.endpoint().ToString());
  TcpClient one(server.endpoint(0)), two(server.endpoint(1));
  EXPECT_EQ(one.Ask("get a\r\n", "END\r\n"), "END\r\n");
  EXPECT_EQ(two.Ask("get a\r\n", "END\r\n"), "VALUE a 0 1\r\n2\r\nEND\r\n");
  EXPECT_TRUE(test::Eventually(
      [&] { return server.Requests(Command::kGet, Result::kMiss, Arm::kA, 0) == 1; }));
  EXPECT_TRUE(test::Eventually(
      [&] { return server.Requests(Command::kGet, Result::kHit, Arm::kA, 1) == 1; }));
  EXPECT_EQ(server.Counts(0).sessions.opened, 1u);
  EXPECT_EQ(server.Counts(1).sessions.opened, 1u);
}

TEST(ServerTest, AChangeOfSettingsReachesEveryWorker) {
  const ScriptedServer upstream(AnswerAtOnce);
  Running server(OptionsFor(upstream.endpoint(), /*threads=*/3));
  std::vector<TcpClient> clients = ConnectMany(server, 3);
  Settings all_b;
  all_b.ab = *Overrides::Parse("nodelay=off");
  all_b.ab_percent = 100;
  server.settings().Set(all_b);
  for (TcpClient& client : clients) {
    EXPECT_TRUE(test::Eventually([&] {
      const uint64_t before = server.Requests(Command::kGet, Result::kMiss, Arm::kB);
      client.Ask("get a\r\n");
      return server.Requests(Command::kGet, Result::kMiss, Arm::kB) > before;
    }));
  }
}

// --- the end ---

TEST(DrainTest, WithoutSessionsItIsOverAtOnce) {
  const ScriptedServer upstream(AnswerAtOnce);
  Running server(OptionsFor(upstream.endpoint(), /*threads=*/2));
  EXPECT_FALSE(server->draining());
  Running::Signal();
  EXPECT_TRUE(server.WaitForEnd());
  EXPECT_TRUE(server->draining());
}

TEST(DrainTest, IdleSessionsEndAndNewClientsAreRefused) {
  const ScriptedServer upstream(AnswerAtOnce);
  Running server(OptionsFor(upstream.endpoint(), /*threads=*/2));
  std::vector<TcpClient> clients = ConnectMany(server, 4);
  Running::Signal(SIGINT);
  EXPECT_TRUE(server.WaitForEnd());
  for (TcpClient& client : clients) {
    EXPECT_TRUE(client.ReadToEnd());
    EXPECT_EQ(client.ending(), Ending::kEof);
  }
  EXPECT_EQ(server.Closed(CloseCause::kDrain), 4u);
  EXPECT_FALSE(test::ConnectTo(server.endpoint()).valid());
}

TEST(DrainTest, FinishesExchangesInFlight) {
  Gate gate;
  const ScriptedServer upstream([&gate](Peer& peer, int) {
    peer.ReadUntil("\r\n");
    gate.Wait();
    peer.Write("VALUE a 0 1\r\n1\r\nEND\r\n");
    peer.StayOpen();
  });
  Running server(OptionsFor(upstream.endpoint(), /*threads=*/2));
  TcpClient client = server.Connect();
  client.Send("get a\r\n");
  ASSERT_TRUE(test::Eventually([&] {
    return mcscope::At(server.Counts().sides, metrics::Side::kUpstream).sent_bytes == 7;
  }));
  Running::Signal();
  ASSERT_TRUE(test::Eventually([&] { return server->draining(); }));
  ASSERT_TRUE(test::Eventually([&] { return !test::ConnectTo(server.endpoint()).valid(); }));
  gate.Open();
  ASSERT_TRUE(client.ReadToEnd());
  EXPECT_EQ(client.received(), "VALUE a 0 1\r\n1\r\nEND\r\n");
  EXPECT_EQ(client.ending(), Ending::kEof);
  EXPECT_TRUE(server.WaitForEnd());
  EXPECT_EQ(server.Requests(Command::kGet, Result::kHit, Arm::kA), 1u);
}

TEST(DrainTest, RunsOutOfPatience) {
  const ScriptedServer upstream([](Peer& peer, int) { peer.ReadUntil("never"); });
  Options options = OptionsFor(upstream.endpoint());
  options.drain_timeout = absl::Milliseconds(50);
  auto server = std::make_unique<Running>(options);
  TcpClient client = server->Connect();
  client.Send("get a\r\n");
  ASSERT_TRUE(test::Eventually([&] {
    return mcscope::At(server->Counts().sides, metrics::Side::kUpstream).sent_bytes == 7;
  }));
  Running::Signal();
  EXPECT_TRUE(server->WaitForEnd());
  server.reset();
  EXPECT_TRUE(client.ReadToEnd());
}

TEST(DrainTest, ASecondSignalEndsItAtOnce) {
  const ScriptedServer upstream([](Peer& peer, int) { peer.ReadUntil("never"); });
  Running server(OptionsFor(upstream.endpoint()));
  TcpClient client = server.Connect();
  client.Send("get a\r\n");
  ASSERT_TRUE(test::Eventually([&] {
    return mcscope::At(server.Counts().sides, metrics::Side::kUpstream).sent_bytes == 7;
  }));
  Running::Signal();
  ASSERT_TRUE(test::Eventually([&] { return server->draining(); }));
  Running::Signal();
  EXPECT_TRUE(server.WaitForEnd());
}

// --- what can not be started ---

class CreateTest : public ::testing::Test {
 protected:
  static std::string ErrorOf(const Options& options) {
    SettingsStore settings(options.settings);
    const auto server = Server::Create(options, &settings);
    EXPECT_FALSE(server.ok());
    return std::string(server.status().message());
  }
  const test::Fd taken_ = test::ListenOn(test::Port(0));
  const test::Endpoint endpoint_ = test::Port(test::LocalPort(taken_));
};

TEST_F(CreateTest, ATakenPortIsNamedWithItsFlag) {
  Options options = OptionsFor(endpoint_);
  options.routes[0].listen = At(endpoint_.ToString());
  EXPECT_EQ(ErrorOf(options),
            absl::StrCat("--listen: ", endpoint_.ToString(), ": Address already in use"));
}

TEST_F(CreateTest, AnAddressThatIsNotOursIsNamedWithItsFlag) {
  Options options = OptionsFor(endpoint_);
  options.routes[0].listen = At("192.0.2.1:0");
  options.routes[0].listen_flag = "--routes";
  EXPECT_EQ(ErrorOf(options), "--routes: 192.0.2.1:0: Cannot assign requested address");
}

TEST_F(CreateTest, AnUpstreamThatDoesNotResolveIsNamedWithItsFlag) {
  const std::string name(64, 'n');
  Options options = OptionsFor(endpoint_);
  options.routes[0].upstream = At(name + ":11211");
  EXPECT_THAT(ErrorOf(options),
              ::testing::StartsWith(absl::StrCat("--upstream: ", name, ":11211: can't resolve")));
}

TEST_F(CreateTest, TwoRoutesCanNotShareAnAddress) {
  Options options = OptionsFor(endpoint_);
  const std::string free = test::Port(test::PickPort()).ToString();
  options.routes = {RouteTo(endpoint_, "a"), RouteTo(endpoint_, "b")};
  options.routes[0].listen = options.routes[1].listen = At(free);
  EXPECT_EQ(ErrorOf(options), absl::StrCat("--listen: ", free, ": Address already in use"));
}

}  // namespace
}  // namespace mcscope
