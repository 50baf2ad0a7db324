// One worker in this process, between clients that the test connects and an upstream that does as
// the test says.
#ifndef MCSCOPE_TESTS_PROXY_RELAY_H_
#define MCSCOPE_TESTS_PROXY_RELAY_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "metrics/bucket_bounds.h"
#include "metrics/counts.h"
#include "metrics/labels.h"
#include "protocol/command.h"
#include "proxy/settings.h"
#include "proxy/worker.h"
#include "tests/support/endpoint.h"
#include "tests/support/scripted_server.h"
#include "tests/support/tcp_client.h"
#include "tests/support/wait.h"

namespace mcscope {

// The element of an array that is indexed by an enumeration.
template <typename Array, typename Enum>
auto At(const Array& array, Enum index) {
  return array[static_cast<size_t>(index)];
}

template <typename Histogram>
uint64_t Total(const Histogram& histogram) {
  uint64_t sum = 0;
  for (const uint64_t count : histogram.buckets) sum += count;
  return sum;
}

// What an upstream waits for until the test opens it.
class Gate {
 public:
  void Open() { open_ = true; }
  // Not for ever: a test that failed never opens it. False then.
  bool Wait() const {
    return test::Eventually([this] { return open_.load(); });
  }

 private:
  std::atomic<bool> open_{false};
};

class Relay {
 public:
  explicit Relay(test::ScriptedServer::Behaviour upstream, const Settings& settings = {},
                 const SessionLimits& limits = {});
  // Without a server of its own.
  explicit Relay(const test::Endpoint& upstream, const SessionLimits& limits = {});
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // A client whose session drew `lot`.
  test::TcpClient Connect(int lot = 0, const test::ConnectOptions& options = {});
  // The far end of the session number `index`.
  test::Peer& Upstream(int index = 0) { return server_->peer(index); }
  Worker& worker() { return *worker_; }

  // Applies `settings` and returns when the worker has them.
  void Apply(const Settings& settings);

  // --- what the worker has recorded ---

  metrics::RouteCounts<uint64_t> Counts() const;
  metrics::CommandCounts<uint64_t> Of(protocol::Command command,
                                      metrics::Arm arm = metrics::Arm::kA) const;
  uint64_t Requests(protocol::Command command, protocol::Result result,
                    metrics::Arm arm = metrics::Arm::kA) const;
  metrics::SideCounts<uint64_t> Side(metrics::Side side) const;
  uint64_t Closed(metrics::CloseCause cause) const;

  // Each waits for it.
  bool Received(metrics::Side side, uint64_t bytes) const;
  bool Sent(metrics::Side side, uint64_t bytes) const;
  bool Recorded(protocol::Command command, protocol::Result result, uint64_t count = 1,
                metrics::Arm arm = metrics::Arm::kA) const;
  bool HasClosed(metrics::CloseCause cause, uint64_t count = 1) const;

 private:
  void Start(const test::Endpoint& upstream, const Settings& settings, const SessionLimits& limits);

  std::unique_ptr<test::ScriptedServer> server_;
  test::Fd listening_;
  const metrics::BucketBounds bounds_ = metrics::BucketBounds::Default();
  std::unique_ptr<Worker> worker_;
};

}  // namespace mcscope

#endif  // MCSCOPE_TESTS_PROXY_RELAY_H_
