// The far rim: serves /metrics, /settings, /legs.json and the health paths from a thread of its
// own, and turns the sliding windows each second. It only ever reads what workers write.
//
// Owner: main.
#ifndef MCSCOPE_PROXY_ADMIN_ADMIN_SERVER_H_
#define MCSCOPE_PROXY_ADMIN_ADMIN_SERVER_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "metrics/collector.h"
#include "metrics/window.h"
#include "proxy/admin/http_server.h"
#include "proxy/admin/readiness.h"
#include "proxy/io/loop.h"
#include "proxy/options.h"
#include "proxy/server.h"
#include "proxy/settings.h"

namespace mcscope::admin {

class AdminServer {
 public:
  // Binds and starts to serve. `options`, `server` and `settings` outlive it.
  // Errors: one line that names the flag, the address and the reason.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Create(const Options& options,
                                                             const Server* server,
                                                             SettingsStore* settings);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  // host:port, with the port the kernel picked.
  const std::string& address() const { return address_; }

 private:
  AdminServer(const Options& options, const Server* server, SettingsStore* settings,
              io::Socket socket);

  metrics::CollectorSources Sources() const;
  void AddPaths();
  void Tick();
  HttpReply Metrics() const;
  HttpReply Legs() const;
  HttpReply ChangeSettings(const std::string& body);
  void CheckReadiness(const std::shared_ptr<HttpExchange>& exchange);

  const Options& options_;
  const Server* server_;
  SettingsStore* settings_;
  std::string address_;
  io::Loop loop_;
  Readiness readiness_;
  HttpServer http_;
  io::Timer tick_;
  std::vector<std::unique_ptr<metrics::Windows>> windows_;  // by route
  metrics::Collector collector_;
  std::thread thread_;
};

}  // namespace mcscope::admin

#endif  // MCSCOPE_PROXY_ADMIN_ADMIN_SERVER_H_
