#include "proxy/worker.h"

#include <cstring>
#include <utility>

#include "proxy/io/clock.h"
#include "spdlog/spdlog.h"

namespace mcscope {

Worker::Worker(const std::vector<Route>& routes, const SessionLimits& limits,
               const Settings& settings, const metrics::BucketBounds* bounds) {
  context_.loop = &loop_;
  context_.limits = limits;
  context_.settings = settings;
  context_.closed = [this](Session* session) { closed_.push_back(session); };
  context_.upstream_failed = [this](const RouteContext& route, metrics::CloseCause cause,
                                    int error) { LogUpstreamFailure(route, cause, error); };
  for (const Route& route : routes) {
    recorders_.push_back(std::make_unique<metrics::Recorder>(bounds));
    routes_.push_back({route.name, route.upstream, recorders_.back().get()});
  }
  log_limiters_.resize(routes_.size());
}

Worker::~Worker() { Stop(); }

void Worker::Start() {
  thread_ = std::thread([this] {
    loop_.Run([this] { EndTurn(); });
    // Sessions that outlive a drain's patience still count how they ended.
    for (const auto& session : sessions_) session->Close(metrics::CloseCause::kDrain, false);
    EndTurn();
  });
}

void Worker::Adopt(size_t route, io::Socket client, int lot) {
  session_count_.fetch_add(1, std::memory_order_relaxed);
  // std::function wants a copyable task; the socket moves through a shared holder.
  auto holder = std::make_shared<io::Socket>(std::move(client));
  loop_.Post([this, route, holder, lot] { Open(route, std::move(*holder), lot); });
}

void Worker::Open(size_t route, io::Socket client, int lot) {
  auto session = std::make_unique<Session>(&context_, &routes_[route], std::move(client), lot);
  session->set_index(static_cast<uint32_t>(sessions_.size()));
  sessions_.push_back(std::move(session));
  sessions_.back()->Start();
}

void Worker::Apply(const Settings& settings) {
  loop_.Post([this, settings] {
    context_.settings = settings;
    ++context_.settings_version;
  });
}

void Worker::Drain(std::function<void()> drained) {
  loop_.Post([this, drained = std::move(drained)] {
    drained_ = drained;
    for (const auto& session : sessions_) session->Drain();
  });
}

void Worker::Stop() {
  if (!thread_.joinable()) return;
  loop_.Post([this] { loop_.Stop(); });
  thread_.join();
}

// Sessions are deleted here and nowhere else, so that none goes while its own code runs.
void Worker::EndTurn() {
  for (Session* session : closed_) {
    const uint32_t index = session->index();
    sessions_.back()->set_index(index);
    std::swap(sessions_[index], sessions_.back());
    sessions_.pop_back();
    session_count_.fetch_sub(1, std::memory_order_relaxed);
  }
  closed_.clear();
  if (drained_ && sessions_.empty()) std::exchange(drained_, nullptr)();
}

void Worker::LogUpstreamFailure(const RouteContext& route, metrics::CloseCause cause, int error) {
  LogLimiter<metrics::kCloseCauseCount>& limiter = log_limiters_[&route - routes_.data()];
  const auto left_out = limiter.Admit(static_cast<size_t>(cause), io::NowNs());
  if (!left_out) return;
  spdlog::warn("route {}: upstream {}: {} ({} more since the last such line)", route.name,
               route.upstream.ToString(),
               error == 0 ? "closed the connection while it owed an answer" : std::strerror(error),
               *left_out);
}

}  // namespace mcscope
