#include "proxy/admin/admin_server.h"

#include <event2/event.h>

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "prometheus/text_serializer.h"
#include "proxy/admin/legs_json.h"
#include "proxy/admin/settings_json.h"
#include "proxy/io/clock.h"
#include "spdlog/spdlog.h"

namespace mcscope::admin {
namespace {

// Prometheus 3 fails a scrape whose type it does not know.
constexpr char kExposition[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr absl::Duration kTick = absl::Seconds(1);
constexpr char kIndex[] =
    "mcscope\n"
    "  GET /metrics    for Prometheus\n"
    "  GET /legs.json  percentiles of each leg over the last 10 and 60 seconds\n"
    "  GET /settings   treatments, A/B split, log level; PUT a JSON object to change them\n"
    "  GET /healthz    200 while the process lives\n"
    "  GET /readyz     200 while every upstream accepts a connection\n";

std::string ClockSource() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return std::getline(file, name) ? name : "unknown";
}

std::vector<std::unique_ptr<metrics::Windows>> WindowsOf(const Server& server) {
  std::vector<std::unique_ptr<metrics::Windows>> windows;
  for (const Server::RouteView& route : server.routes()) {
    windows.push_back(std::make_unique<metrics::Windows>(route.recorders));
  }
  return windows;
}

Readiness::Upstreams UpstreamsOf(const Server& server) {
  Readiness::Upstreams upstreams;
  for (const Server::RouteView& route : server.routes()) {
    upstreams.emplace_back(route.name, route.upstream);
  }
  return upstreams;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Create(const Options& options,
                                                                 const Server* server,
                                                                 SettingsStore* settings) {
  const absl::StatusOr<io::SocketAddress> address = options.admin.Resolve();
  absl::Status status = address.status();
  if (status.ok()) {
    absl::StatusOr<io::Socket> socket = io::Socket::Listen(*address);
    if (socket.ok()) {
      return std::unique_ptr<AdminServer>(
          new AdminServer(options, server, settings, *std::move(socket)));
    }
    status = socket.status();
  }
  return absl::UnavailableError(
      absl::StrCat("--admin: ", options.admin.ToString(), ": ", status.message()));
}

AdminServer::AdminServer(const Options& options, const Server* server, SettingsStore* settings,
                         io::Socket socket)
    : options_(options),
      server_(server),
      settings_(settings),
      address_(socket.LocalAddress().ToString()),
      readiness_(&loop_, UpstreamsOf(*server), options.limits.connect_timeout),
      http_(&loop_, std::move(socket)),
      tick_(&loop_, [this] { Tick(); }),
      windows_(WindowsOf(*server)),
      collector_(Sources()) {
  AddPaths();
  tick_.Start(kTick);
  thread_ = std::thread([this] { loop_.Run(); });
}

AdminServer::~AdminServer() {
  loop_.Post([this] { loop_.Stop(); });
  thread_.join();
}

metrics::CollectorSources AdminServer::Sources() const {
  metrics::CollectorSources sources;
  sources.bounds = &options_.buckets;
  for (size_t i = 0; i < windows_.size(); ++i) {
    const Server::RouteView& route = server_->routes()[i];
    sources.routes.push_back({route.name, route.recorders, windows_[i].get(),
                              [listener = route.listener] { return listener->pauses(); }});
  }
  sources.settings = [this] {
    const SettingNumbers numbers = Numbers(settings_->Get());
    const auto changes = settings_->Changes();
    std::vector<metrics::SettingSample> samples;
    for (size_t i = 0; i < numbers.size(); ++i) {
      samples.push_back({std::string(numbers[i].first), numbers[i].second, changes[i]});
    }
    return samples;
  };
  sources.now_ns = io::NowNs;
  sources.build = {MCSCOPE_VERSION, __VERSION__, event_get_version(), ClockSource()};
  return sources;
}

void AdminServer::AddPaths() {
  using Exchange = std::shared_ptr<HttpExchange>;
  http_.Handle("GET", "/", [](const Exchange& e) { e->Send({200, kPlainText, kIndex}); });
  http_.Handle("GET", "/healthz", [](const Exchange& e) { e->Send({200, kPlainText, "ok\n"}); });
  http_.Handle("GET", "/readyz", [this](const Exchange& e) { CheckReadiness(e); });
  http_.Handle("GET", "/metrics", [this](const Exchange& e) { e->Send(Metrics()); });
  http_.Handle("GET", "/legs.json", [this](const Exchange& e) { e->Send(Legs()); });
  http_.Handle("GET", "/settings", [this](const Exchange& e) {
    e->Send({200, kJson, SettingsToJson(settings_->Get(), JsonLayout::kIndented)});
  });
  http_.Handle("PUT", "/settings",
               [this](const Exchange& e) { e->Send(ChangeSettings(e->body())); });
}

void AdminServer::Tick() {
  for (const auto& windows : windows_) windows->Tick(io::NowNs());
  tick_.Start(kTick);
}

HttpReply AdminServer::Metrics() const {
  return {200, kExposition, prometheus::TextSerializer().Serialize(collector_.Collect())};
}

HttpReply AdminServer::Legs() const {
  const int64_t now = io::NowNs();
  std::vector<std::pair<std::string, std::vector<metrics::WindowQuantiles>>> routes;
  for (size_t i = 0; i < windows_.size(); ++i) {
    std::vector<metrics::WindowQuantiles> series = windows_[i]->OfAllCommands(now);
    for (auto& quantiles : windows_[i]->OfEachCommand(now)) series.push_back(quantiles);
    routes.emplace_back(server_->routes()[i].name, std::move(series));
  }
  return {200, kJson, LegsToJson(routes)};
}

HttpReply AdminServer::ChangeSettings(const std::string& body) {
  const absl::StatusOr<Settings> settings = SettingsFromJson(body, settings_->Get());
  if (!settings.ok()) {
    return {400, kPlainText, absl::StrCat(settings.status().message(), "; nothing was changed\n")};
  }
  settings_->Set(*settings);
  spdlog::info("settings: {}", SettingsToJson(*settings, JsonLayout::kOneLine));
  return {200, kJson, SettingsToJson(*settings, JsonLayout::kIndented)};
}

void AdminServer::CheckReadiness(const std::shared_ptr<HttpExchange>& exchange) {
  if (server_->draining()) return exchange->Send({503, kPlainText, "draining\n"});
  readiness_.Check([exchange](bool ready, const std::string& report) {
    exchange->Send({ready ? 200 : 503, kPlainText, report});
  });
}

}  // namespace mcscope::admin
