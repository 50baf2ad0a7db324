// The workers and the listeners of all routes: accepts each client, gives it to the worker with the
// fewest sessions, and drains all of them at the end.
//
// Owner: main. Run() makes the calling thread the server's; other calls say which thread.
#ifndef MCSCOPE_PROXY_SERVER_H_
#define MCSCOPE_PROXY_SERVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "metrics/recorder.h"
#include "proxy/io/listener.h"
#include "proxy/io/loop.h"
#include "proxy/log_limiter.h"
#include "proxy/options.h"
#include "proxy/settings.h"
#include "proxy/worker.h"

namespace mcscope {

class Server {
 public:
  // Resolves the upstreams, binds the listeners, starts the workers and watches SIGTERM and SIGINT;
  // clients wait in the backlog until Run(). `options` and `settings` outlive the server.
  // Errors: one line that names the flag, the address and the reason.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const Options& options,
                                                        SettingsStore* settings);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Accepts and serves until SIGTERM or SIGINT, then drains. Returns once all sessions have ended,
  // the drain's time is up, or a second signal came.
  void Run();

  // A route as the rest of the process may see it. Any thread; constant after Create().
  struct RouteView {
    std::string name;
    io::SocketAddress listen;  // with the port the kernel picked
    io::SocketAddress upstream;
    std::vector<const metrics::Recorder*> recorders;
    const io::Listener* listener;
  };
  const std::vector<RouteView>& routes() const { return views_; }

  // SIGTERM or SIGINT has come. Any thread.
  bool draining() const { return draining_.load(std::memory_order_relaxed); }

 private:
  Server(const Options& options, SettingsStore* settings);

  absl::Status OpenRoute(const RouteOptions& route);
  void StartWorkers();
  void Listen(size_t route, io::Socket socket);
  void Accept(size_t route, io::Socket client);
  size_t sessions() const;
  void OnSignal();
  void OutOfPatience();
  void OnWorkerDrained();

  const Options& options_;
  SettingsStore* settings_;
  io::Loop loop_;
  io::SignalWatch terminate_;
  io::SignalWatch interrupt_;
  io::Timer out_of_patience_;  // runs while draining
  std::vector<Route> routes_;
  std::vector<io::Socket> bound_;  // until StartWorkers() turns them into listeners
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<metrics::Recorder>> recorders_;  // of what no worker got to see
  std::vector<std::unique_ptr<io::Listener>> listeners_;
  std::vector<RouteView> views_;
  std::atomic<bool> draining_{false};
  size_t undrained_workers_ = 0;
  size_t session_budget_;  // what the limit of open files allows
  int next_lot_ = 0;
  LogLimiter<1> pause_log_limiter_;
};

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_SERVER_H_
