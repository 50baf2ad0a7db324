#include "tests/proxy/relay.h"

#include <sys/socket.h>

#include <utility>
#include <vector>

#include "metrics/recorder_reader.h"
#include "proxy/io/address.h"
#include "tests/support/wait.h"

namespace mcscope {

Relay::Relay(test::ScriptedServer::Behaviour upstream, const Settings& settings,
             const SessionLimits& limits)
    : server_(std::make_unique<test::ScriptedServer>(std::move(upstream))) {
  Start(server_->endpoint(), settings, limits);
}

Relay::Relay(const test::Endpoint& upstream, const SessionLimits& limits) {
  Start(upstream, Settings(), limits);
}

Relay::~Relay() = default;

void Relay::Start(const test::Endpoint& upstream, const Settings& settings,
                  const SessionLimits& limits) {
  listening_ = test::ListenOn(test::Port(0));
  const std::vector<Route> routes = {
      {"default", *io::Address::Parse(upstream.ToString())->Resolve()}};
  worker_ = std::make_unique<Worker>(routes, limits, settings, &bounds_);
  worker_->Start();
}

test::TcpClient Relay::Connect(int lot, const test::ConnectOptions& options) {
  test::TcpClient client(test::Port(test::LocalPort(listening_)), options);
  worker_->Adopt(
      0, io::Socket(accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)),
      lot);
  return client;
}

void Relay::Apply(const Settings& settings) {
  worker_->Apply(settings);
  // Tasks run in their order: a session adopted behind the change is opened behind it.
  const uint64_t opened = Counts().sessions.opened;
  Connect();
  test::Eventually([&] { return Counts().sessions.opened > opened; });
}

metrics::RouteCounts<uint64_t> Relay::Counts() const {
  metrics::RouteCounts<uint64_t> counts;
  metrics::RecorderReader(&worker_->recorder(0)).AddTo(&counts);
  return counts;
}

metrics::CommandCounts<uint64_t> Relay::Of(protocol::Command command, metrics::Arm arm) const {
  metrics::CommandCounts<uint64_t> counts;
  metrics::RecorderReader(&worker_->recorder(0)).AddTo(command, arm, &counts);
  return counts;
}

uint64_t Relay::Requests(protocol::Command command, protocol::Result result,
                         metrics::Arm arm) const {
  return At(Of(command, arm).requests, result);
}

metrics::SideCounts<uint64_t> Relay::Side(metrics::Side side) const {
  return At(Counts().sides, side);
}

uint64_t Relay::Closed(metrics::CloseCause cause) const {
  return At(Counts().sessions.closes, cause);
}

bool Relay::Received(metrics::Side side, uint64_t bytes) const {
  return test::Eventually([&] { return Side(side).received_bytes >= bytes; });
}

bool Relay::Sent(metrics::Side side, uint64_t bytes) const {
  return test::Eventually([&] { return Side(side).sent_bytes >= bytes; });
}

bool Relay::Recorded(protocol::Command command, protocol::Result result, uint64_t count,
                     metrics::Arm arm) const {
  return test::Eventually([&] { return Requests(command, result, arm) >= count; });
}

bool Relay::HasClosed(metrics::CloseCause cause, uint64_t count) const {
  return test::Eventually([&] { return Closed(cause) >= count; });
}

}  // namespace mcscope
