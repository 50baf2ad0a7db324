// One thread, one loop, and the owner of everything on them: sessions with their links, the
// recorder of each route, and the memory they share.
//
// Owner: the server. Calls from the server's thread unless they say otherwise.
#ifndef MCSCOPE_PROXY_WORKER_H_
#define MCSCOPE_PROXY_WORKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "metrics/recorder.h"
#include "proxy/context.h"
#include "proxy/io/loop.h"
#include "proxy/io/socket.h"
#include "proxy/log_limiter.h"
#include "proxy/session.h"
#include "proxy/settings.h"

namespace mcscope {

// A route as configured and resolved.
struct Route {
  std::string name;
  io::SocketAddress upstream;
};

class Worker {
 public:
  // `bounds` outlives the worker. Nothing runs before Start().
  Worker(const std::vector<Route>& routes, const SessionLimits& limits, const Settings& settings,
         const metrics::BucketBounds* bounds);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void Start();

  // Takes over a client that connected to route `route` and drew `lot`.
  void Adopt(size_t route, io::Socket client, int lot);

  // Settings for all sessions, from their next request on. Any thread.
  void Apply(const Settings& settings);

  // Lets each session finish what is under way; `drained` is then called on the worker's thread.
  void Drain(std::function<void()> drained);

  // Ends the thread after the current turn, whatever is under way, and waits for it.
  void Stop();

  // Sessions handed over and not yet closed. Any thread.
  size_t sessions() const { return session_count_.load(std::memory_order_relaxed); }

  // What this worker has seen on route `route`. Any thread may read it.
  const metrics::Recorder& recorder(size_t route) const { return *recorders_[route]; }

 private:
  void EndTurn();
  void Open(size_t route, io::Socket client, int lot);
  void LogUpstreamFailure(const RouteContext& route, metrics::CloseCause cause, int error);

  io::Loop loop_;
  WorkerContext context_;
  std::vector<std::unique_ptr<metrics::Recorder>> recorders_;
  std::vector<RouteContext> routes_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<Session*> closed_;  // to be deleted at the end of the turn
  std::atomic<size_t> session_count_{0};
  std::function<void()> drained_;                                    // set while draining
  std::vector<LogLimiter<metrics::kCloseCauseCount>> log_limiters_;  // by route
  std::thread thread_;
};

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_WORKER_H_
