#include "proxy/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proxy/io/clock.h"
#include "spdlog/spdlog.h"

namespace mcscope {
namespace {

// Lots walk through [0, 100) in steps that share no factor with it: each hundred sessions in a row
// holds every lot once, and any few in a row are spread evenly.
constexpr int kLotStep = 61;
constexpr int kLots = 100;

// Descriptors that are no session's: standard streams, loops, listeners, admin connections.
constexpr size_t kReservedDescriptors = 24;
constexpr size_t kDescriptorsPerThread = 4;  // epoll, an eventfd, libevent's pair for signals
constexpr size_t kDescriptorsPerSession = 2;

// Raises the soft limit of open files to the hard one, and tells how many sessions fit in it.
size_t SessionBudget(size_t threads) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return SIZE_MAX;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised = {limit.rlim_max, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  const size_t reserved = kReservedDescriptors + threads * kDescriptorsPerThread;
  if (limit.rlim_cur <= reserved + kDescriptorsPerSession) return 1;
  return (limit.rlim_cur - reserved) / kDescriptorsPerSession;
}

absl::Status Unusable(absl::string_view flag, absl::string_view address, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(flag, ": ", address, ": ", why));
}

}  // namespace

Server::Server(const Options& options, SettingsStore* settings)
    : options_(options),
      settings_(settings),
      terminate_(&loop_, SIGTERM, [this] { OnSignal(); }),
      interrupt_(&loop_, SIGINT, [this] { OnSignal(); }),
      out_of_patience_(&loop_, [this] { OutOfPatience(); }),
      session_budget_(SessionBudget(options.threads)) {}

Server::~Server() {
  listeners_.clear();
  for (const auto& worker : workers_) worker->Stop();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const Options& options,
                                                       SettingsStore* settings) {
  std::unique_ptr<Server> server(new Server(options, settings));
  for (const RouteOptions& route : options.routes) {
    const absl::Status status = server->OpenRoute(route);
    if (!status.ok()) return status;
  }
  server->StartWorkers();
  return server;
}

absl::Status Server::OpenRoute(const RouteOptions& route) {
  absl::StatusOr<io::SocketAddress> upstream = route.upstream.Resolve();
  if (!upstream.ok()) {
    return Unusable(route.upstream_flag, route.upstream.ToString(), upstream.status().message());
  }
  absl::StatusOr<io::SocketAddress> listen = route.listen.Resolve();
  if (!listen.ok()) {
    return Unusable(route.listen_flag, route.listen.ToString(), listen.status().message());
  }
  absl::StatusOr<io::Socket> socket = io::Socket::Listen(*listen);
  if (!socket.ok()) {
    return Unusable(route.listen_flag, route.listen.ToString(), socket.status().message());
  }
  bound_.push_back(*std::move(socket));
  routes_.push_back({route.name, *upstream});
  return absl::OkStatus();
}

void Server::StartWorkers() {
  for (int i = 0; i < options_.threads; ++i) {
    workers_.push_back(
        std::make_unique<Worker>(routes_, options_.limits, settings_->Get(), &options_.buckets));
  }
  settings_->Observe([this](const Settings& settings) {
    for (const auto& worker : workers_) worker->Apply(settings);
  });
  for (size_t i = 0; i < routes_.size(); ++i) {
    recorders_.push_back(std::make_unique<metrics::Recorder>(&options_.buckets));
    Listen(i, std::move(bound_[i]));
    RouteView view;
    view.name = routes_[i].name;
    view.listen = listeners_[i]->address();
    view.upstream = routes_[i].upstream;
    view.recorders.push_back(recorders_[i].get());
    for (const auto& worker : workers_) view.recorders.push_back(&worker->recorder(i));
    view.listener = listeners_[i].get();
    views_.push_back(std::move(view));
  }
  bound_.clear();
  for (const auto& worker : workers_) worker->Start();
}

void Server::Listen(size_t route, io::Socket socket) {
  listeners_.push_back(std::make_unique<io::Listener>(
      &loop_, std::move(socket),
      [this, route](io::Socket client) { Accept(route, std::move(client)); },
      [this] { return sessions() < session_budget_; },
      [this](int error) {
        const auto left_out = pause_log_limiter_.Admit(0, io::NowNs());
        if (!left_out) return;
        spdlog::warn(
            "accepting pauses at {} sessions: {} ({} more pauses since the last such line)",
            sessions(), std::strerror(error), *left_out);
      }));
}

size_t Server::sessions() const {
  size_t sum = 0;
  for (const auto& worker : workers_) sum += worker->sessions();
  return sum;
}

void Server::Accept(size_t route, io::Socket client) {
  if (options_.max_sessions > 0 && sessions() >= options_.max_sessions) {
    recorders_[route]->SessionOpened();
    recorders_[route]->SessionClosed(metrics::CloseCause::kSessionLimit);
    return;
  }
  Worker& least = **std::min_element(
      workers_.begin(), workers_.end(),
      [](const auto& a, const auto& b) { return a->sessions() < b->sessions(); });
  least.Adopt(route, std::move(client), next_lot_);
  next_lot_ = (next_lot_ + kLotStep) % kLots;
}

void Server::Run() { loop_.Run(); }

void Server::OutOfPatience() {
  spdlog::warn("drain: {} sessions still open after {}; closing them", sessions(),
               absl::FormatDuration(options_.drain_timeout));
  loop_.Stop();
}

void Server::OnSignal() {
  if (draining()) return loop_.Stop();
  draining_.store(true, std::memory_order_relaxed);
  spdlog::info("draining: {} sessions", sessions());
  for (const auto& listener : listeners_) listener->StopAccepting();
  out_of_patience_.Start(options_.drain_timeout);
  undrained_workers_ = workers_.size();
  for (const auto& worker : workers_) {
    worker->Drain([this] { loop_.Post([this] { OnWorkerDrained(); }); });
  }
}

void Server::OnWorkerDrained() {
  if (--undrained_workers_ == 0) loop_.Stop();
}

}  // namespace mcscope
