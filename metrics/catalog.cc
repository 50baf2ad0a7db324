#include "metrics/catalog.h"

#include <algorithm>

namespace mcscope::metrics {
namespace {

constexpr MetricType kCounter = MetricType::kCounter;
constexpr MetricType kGauge = MetricType::kGauge;
constexpr MetricType kHistogram = MetricType::kHistogram;

constexpr char kFromStart[] = "All, from the start.";
constexpr char kOncePerCommand[] = "Of a command and arm once seen; then all of them, from zero.";
constexpr char kProcess[] = "One, where /proc can be read.";

constexpr std::array<MetricInfo, kMetricCount> kCatalog = {{
    {Metric::kRequestDuration,
     "mcscope_request_duration_seconds",
     kHistogram,
     "Time from the first byte of a request read to the last byte of its reply written.",
     {"route", "command", "result", "arm"},
     "The total of every answered exchange: the sum of its five legs, exactly. Requests that get "
     "no "
     "reply, aborted ones and those answered before they were complete are not in it.",
     "Of a command and arm once seen; then every result that the command can have, from zero."},
    {Metric::kLegDuration,
     "mcscope_leg_duration_seconds",
     kHistogram,
     "Time that answered exchanges spent in one leg.",
     {"route", "leg", "command", "arm"},
     "Where the time goes. Each answered exchange is in all five legs once.",
     kOncePerCommand},
    {Metric::kUnansweredLegDuration,
     "mcscope_unanswered_leg_duration_seconds",
     kHistogram,
     "Time that exchanges without a reply (noreply, quiet) spent in one of their two legs.",
     {"route", "leg", "command", "arm"},
     "The legs client_read and request_queue of exchanges that got no reply, kept apart from the "
     "answered ones.",
     "Of a command and arm once seen, where the command can go without a reply; then both legs."},
    {Metric::kOverhead,
     "mcscope_overhead_seconds",
     kHistogram,
     "Time that answered exchanges spent in the proxy itself.",
     {"route", "arm"},
     "request_queue + client_write of each answered exchange, added per exchange: what the proxy "
     "costs, and what a slow reader costs on top.",
     kFromStart},
    {Metric::kLegQuantile,
     "mcscope_leg_quantile_seconds",
     kGauge,
     "Quantile of a leg, or of the total, over a sliding window, all commands together.",
     {"route", "leg", "arm", "window", "q"},
     "Read from the fine histograms, within 1 % of the true sample. leg is one of the five or "
     "total; "
     "window is 10s or 60s; q is 0.5, 0.9, 0.99, 0.999, 0.9999 or 1 (the largest). Quantiles can "
     "be neither added nor averaged: over several proxies use the histograms.",
     "Of a window with at least one sample. An empty window has no series at all."},
    {Metric::kRequests,
     "mcscope_requests_total",
     kCounter,
     "Requests, by what became of them.",
     {"route", "command", "result", "arm"},
     "Every framed request ends in exactly one result. none: no reply was due and none came. "
     "aborted: the connection ended first, or its session became a tunnel. error: memcached "
     "answered with an error line.",
     "Of a command and arm once seen; then every result that the command can have, from zero."},
    {Metric::kRequestReads,
     "mcscope_request_reads",
     kHistogram,
     "Reads that it took to receive a request.",
     {"route", "arm"},
     "1 for an app that writes its request at once. More: the app splits its writes, or the "
     "request "
     "is larger than a socket buffer. All finished exchanges, answered or not.",
     kFromStart},
    {Metric::kSplitRequests,
     "mcscope_split_requests_total",
     kCounter,
     "Requests that arrived in more than one read.",
     {"route", "arm"},
     "The share of requests that can stall at all.",
     kFromStart},
    {Metric::kStalls,
     "mcscope_stalls_total",
     kCounter,
     "Times that an incomplete request or reply stopped arriving for 30 ms or longer.",
     {"route", "leg", "arm"},
     "The mark of Nagle's algorithm waiting for a delayed ACK. client_read: the request stopped; "
     "upstream_read: the reply did.",
     kFromStart},
    {Metric::kQuickAcks,
     "mcscope_quickacks_total",
     kCounter,
     "Times that TCP_QUICKACK was set: a read left a request or a reply incomplete, or ended with "
     "a "
     "request that no reply is sure to follow.",
     {"route", "side"},
     "The treatment at work; each is at most one ACK more on the wire.",
     kFromStart},
    {Metric::kNoDelayFailures,
     "mcscope_nodelay_failures_total",
     kCounter,
     "Sockets on which TCP_NODELAY could not be set as wanted.",
     {"route", "side"},
     "Above 0 the treatment does not hold for some connections. Unix sockets do not count.",
     kFromStart},
    {Metric::kReads,
     "mcscope_reads_total",
     kCounter,
     "Reads from a side's sockets that brought bytes.",
     {"route", "side"},
     "Over requests: how scattered they arrive.",
     kFromStart},
    {Metric::kWrites,
     "mcscope_writes_total",
     kCounter,
     "Writes to a side's sockets that took bytes.",
     {"route", "side"},
     "Over requests: 1 towards the upstream for each request with coalesce on, less when pipelined "
     "requests leave together.",
     kFromStart},
    {Metric::kBytes,
     "mcscope_bytes_total",
     kCounter,
     "Bytes received from and sent to each side.",
     {"route", "side", "direction"},
     "Bytes out equal bytes in: what one side received, the other was sent. Tunnels included.",
     kFromStart},
    {Metric::kSessions,
     "mcscope_sessions",
     kGauge,
     "Client connections open at the moment.",
     {"route"},
     "",
     kFromStart},
    {Metric::kSessionsOpened,
     "mcscope_sessions_total",
     kCounter,
     "Client connections accepted.",
     {"route"},
     "A high rate: the app does not keep its connections.",
     kFromStart},
    {Metric::kSessionCloses,
     "mcscope_session_closes_total",
     kCounter,
     "Sessions that ended, by what ended them.",
     {"route", "cause"},
     "client_* and upstream_closed are everyday; the other causes are faults, limits or a "
     "shutdown.",
     kFromStart},
    {Metric::kTunnels,
     "mcscope_tunnels_total",
     kCounter,
     "Sessions that became tunnels: forwarded, no longer timed.",
     {"route", "reason"},
     "Traffic that the histograms do not show.",
     kFromStart},
    {Metric::kAcceptPauses,
     "mcscope_accept_pauses_total",
     kCounter,
     "Times that accepting connections paused, for want of file descriptors.",
     {"route"},
     "Above 0: raise the limit of open files.",
     kFromStart},
    {Metric::kSetting,
     "mcscope_setting",
     kGauge,
     "Settings in force: 1 for on, 0 for off, else the value.",
     {"name"},
     "To see in a graph what was switched on.",
     kFromStart},
    {Metric::kSettingChanges,
     "mcscope_setting_changes_total",
     kCounter,
     "Changes of each setting since the start.",
     {"name"},
     "To mark the changes in a graph.",
     kFromStart},
    {Metric::kBuildInfo,
     "mcscope_build_info",
     kGauge,
     "Always 1; the labels say what runs.",
     {"version", "compiler", "libevent", "clocksource"},
     "A clocksource other than tsc (or the hypervisor's own page) makes each clock reading a slow "
     "system call.",
     kFromStart},
    {Metric::kProcessCpu,
     "process_cpu_seconds_total",
     kCounter,
     "User and system CPU time spent, in seconds.",
     {},
     "",
     kProcess},
    {Metric::kProcessResidentMemory,
     "process_resident_memory_bytes",
     kGauge,
     "Resident memory, in bytes.",
     {},
     "",
     kProcess},
    {Metric::kProcessVirtualMemory,
     "process_virtual_memory_bytes",
     kGauge,
     "Virtual memory, in bytes.",
     {},
     "",
     kProcess},
    {Metric::kProcessStartTime,
     "process_start_time_seconds",
     kGauge,
     "Start of the process, in seconds since the Unix epoch.",
     {},
     "",
     kProcess},
    {Metric::kProcessOpenFds,
     "process_open_fds",
     kGauge,
     "Open file descriptors.",
     {},
     "Two per session, and a few.",
     kProcess},
    {Metric::kProcessMaxFds,
     "process_max_fds",
     kGauge,
     "Limit of open file descriptors.",
     {},
     "",
     "One, unless there is no limit."},
    {Metric::kProcessThreads,
     "process_threads",
     kGauge,
     "Threads of the process.",
     {},
     "",
     kProcess},
}};

}  // namespace

absl::Span<const absl::string_view> MetricInfo::labels() const {
  const auto end = std::find(label_names.begin(), label_names.end(), absl::string_view());
  return absl::MakeConstSpan(label_names.data(), static_cast<size_t>(end - label_names.begin()));
}

const MetricInfo& Info(Metric metric) { return kCatalog[static_cast<size_t>(metric)]; }

absl::Span<const MetricInfo> Catalog() { return kCatalog; }

absl::string_view Name(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "";
}

}  // namespace mcscope::metrics
