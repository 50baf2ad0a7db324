#include "metrics/collector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "metrics/recorder_reader.h"

namespace mcscope::metrics {
namespace {

// Correctly rounded, as the decimal would be: 1,100,000,000 ns gives the double that "1.1" names.
double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

double Number(uint64_t n) { return static_cast<double>(n); }

// Whether `command` can end in `result`. A count that is there in spite of the table is better
// shown than hidden.
bool Possible(protocol::Command command, protocol::Result result,
              const CommandCounts<uint64_t>& counts) {
  const auto i = static_cast<size_t>(result);
  return (protocol::Info(command).results >> i & 1) != 0 || counts.requests[i] > 0;
}

// Neither is the result of an answered exchange.
bool IsAnswer(protocol::Result result) {
  return result != protocol::Result::kNone && result != protocol::Result::kAborted;
}

void AddSides(const std::string& route, const RouteCounts<uint64_t>& counts, FamilySet* families) {
  for (size_t i = 0; i < kSideCount; ++i) {
    const absl::string_view side = Name(static_cast<Side>(i));
    const SideCounts<uint64_t>& of_side = counts.sides[i];
    families->Add(Metric::kQuickAcks, {route, side}, Number(of_side.quick_acks));
    families->Add(Metric::kNoDelayFailures, {route, side}, Number(of_side.nodelay_failures));
    families->Add(Metric::kReads, {route, side}, Number(of_side.reads));
    families->Add(Metric::kWrites, {route, side}, Number(of_side.writes));
    families->Add(Metric::kBytes, {route, side, "received"}, Number(of_side.received_bytes));
    families->Add(Metric::kBytes, {route, side, "sent"}, Number(of_side.sent_bytes));
  }
}

void AddSessions(const std::string& route, const SessionCounts<uint64_t>& sessions,
                 FamilySet* families) {
  uint64_t closed = 0;
  for (size_t i = 0; i < kCloseCauseCount; ++i) {
    closed += sessions.closes[i];
    families->Add(Metric::kSessionCloses, {route, Name(static_cast<CloseCause>(i))},
                  Number(sessions.closes[i]));
  }
  for (size_t i = 0; i < protocol::kOpaqueReasonCount; ++i) {
    families->Add(Metric::kTunnels, {route, Name(static_cast<protocol::OpaqueReason>(i))},
                  Number(sessions.tunnels[i]));
  }
  families->Add(Metric::kSessionsOpened, {route}, Number(sessions.opened));
  families->Add(Metric::kSessions, {route},
                Number(sessions.opened - std::min(closed, sessions.opened)));
}

}  // namespace

Collector::Collector(CollectorSources sources) : sources_(std::move(sources)) {
  for (const int64_t edge : sources_.bounds->edges()) {
    edges_.push_back(Seconds(static_cast<uint64_t>(edge)));
  }
}

std::vector<prometheus::MetricFamily> Collector::Collect() const {
  FamilySet families;
  for (const CollectorRoute& route : sources_.routes) {
    RouteCounts<uint64_t> counts;
    for (const Recorder* recorder : route.recorders) RecorderReader(recorder).AddTo(&counts);
    AddCommands(route, &families);
    AddArms(route, counts, &families);
    AddSides(route.name, counts, &families);
    AddSessions(route.name, counts.sessions, &families);
    AddQuantiles(route, &families);
    families.Add(Metric::kAcceptPauses, {route.name}, Number(route.accept_pauses()));
  }
  AddSettings(&families);
  const BuildInfo& build = sources_.build;
  families.Add(Metric::kBuildInfo,
               {build.version, build.compiler, build.libevent, build.clocksource}, 1);
  process_.AddTo(&families);
  return families.Take();
}

void Collector::AddDurations(Metric metric, LabelValues labels,
                             const DurationCounts<uint64_t>& counts, FamilySet* families) const {
  families->AddHistogram(metric, labels, edges_,
                         absl::MakeConstSpan(counts.buckets).first(edges_.size() + 1),
                         Seconds(counts.sum));
}

void Collector::AddCommands(const CollectorRoute& route, FamilySet* families) const {
  for (size_t i = 0; i < protocol::kCommandCount; ++i) {
    const auto command = static_cast<protocol::Command>(i);
    for (const Arm arm : {Arm::kA, Arm::kB}) {
      CommandCounts<uint64_t> counts;
      bool seen = false;
      for (const Recorder* recorder : route.recorders) {
        seen |= RecorderReader(recorder).AddTo(command, arm, &counts);
      }
      if (seen) AddCommand(route, command, arm, counts, families);
    }
  }
}

void Collector::AddCommand(const CollectorRoute& route, protocol::Command command, Arm arm,
                           const CommandCounts<uint64_t>& counts, FamilySet* families) const {
  const absl::string_view name = protocol::Info(command).name;
  for (size_t i = 0; i < protocol::kResultCount; ++i) {
    const auto result = static_cast<protocol::Result>(i);
    if (!Possible(command, result, counts)) continue;
    const LabelValues labels = {route.name, name, protocol::Name(result), Name(arm)};
    families->Add(Metric::kRequests, labels, Number(counts.requests[i]));
    if (IsAnswer(result)) {
      AddDurations(Metric::kRequestDuration, labels, counts.durations[i], families);
    }
  }
  const bool unanswered = Possible(command, protocol::Result::kNone, counts);
  for (size_t i = 0; i < kLegCount; ++i) {
    const LabelValues labels = {route.name, Name(static_cast<Leg>(i)), name, Name(arm)};
    AddDurations(Metric::kLegDuration, labels, counts.legs[i], families);
    if (unanswered && i < kUnansweredLegCount) {
      AddDurations(Metric::kUnansweredLegDuration, labels, counts.unanswered_legs[i], families);
    }
  }
}

void Collector::AddArms(const CollectorRoute& route, const RouteCounts<uint64_t>& counts,
                        FamilySet* families) const {
  static constexpr auto kEdges = [] {
    std::array<double, kReadsEdges.size()> edges = {};
    for (size_t i = 0; i < edges.size(); ++i) edges[i] = kReadsEdges[i];
    return edges;
  }();
  for (const Arm arm : {Arm::kA, Arm::kB}) {
    const ArmCounts<uint64_t>& of_arm = counts.arms[static_cast<size_t>(arm)];
    AddDurations(Metric::kOverhead, {route.name, Name(arm)}, of_arm.overhead, families);
    families->AddHistogram(Metric::kRequestReads, {route.name, Name(arm)}, kEdges,
                           of_arm.request_reads.buckets, Number(of_arm.request_reads.sum));
    families->Add(Metric::kSplitRequests, {route.name, Name(arm)}, Number(of_arm.split_requests));
    for (const Leg leg : kReadLegs) {
      families->Add(Metric::kStalls, {route.name, Name(leg), Name(arm)},
                    Number(of_arm.stalls[static_cast<size_t>(leg)]));
    }
  }
}

void Collector::AddQuantiles(const CollectorRoute& route, FamilySet* families) const {
  for (const WindowQuantiles& window : route.windows->OfAllCommands(sources_.now_ns())) {
    const std::string seconds = absl::StrCat(window.window_seconds, "s");
    for (size_t i = 0; i < kQuantiles.size(); ++i) {
      families->Add(Metric::kLegQuantile,
                    {route.name, SeriesName(window.leg), Name(window.arm), seconds,
                     absl::StrCat(kQuantiles[i])},
                    Seconds(static_cast<uint64_t>(window.value_ns[i])));
    }
  }
}

void Collector::AddSettings(FamilySet* families) const {
  for (const SettingSample& setting : sources_.settings()) {
    families->Add(Metric::kSetting, {setting.name}, setting.value);
    families->Add(Metric::kSettingChanges, {setting.name}, Number(setting.changes));
  }
}

}  // namespace mcscope::metrics
