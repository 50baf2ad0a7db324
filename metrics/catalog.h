// The one table of everything that /metrics exposes: names, types, help texts, labels, meaning. The
// collector takes names and labels from here, and docs/METRICS.md is generated from it.
//
// Constant data; any thread may read it.
#ifndef MCSCOPE_METRICS_CATALOG_H_
#define MCSCOPE_METRICS_CATALOG_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mcscope::metrics {

// In the order of the page.
enum class Metric : uint8_t {
  kRequestDuration,
  kLegDuration,
  kUnansweredLegDuration,
  kOverhead,
  kLegQuantile,
  kRequests,
  kRequestReads,
  kSplitRequests,
  kStalls,
  kQuickAcks,
  kNoDelayFailures,
  kReads,
  kWrites,
  kBytes,
  kSessions,
  kSessionsOpened,
  kSessionCloses,
  kTunnels,
  kAcceptPauses,
  kSetting,
  kSettingChanges,
  kBuildInfo,
  kProcessCpu,
  kProcessResidentMemory,
  kProcessVirtualMemory,
  kProcessStartTime,
  kProcessOpenFds,
  kProcessMaxFds,
  kProcessThreads,
};
inline constexpr size_t kMetricCount = static_cast<size_t>(Metric::kProcessThreads) + 1;

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };

struct MetricInfo {
  Metric metric;
  absl::string_view name;
  MetricType type;
  // One line; neither backslash nor newline (the exposition would not escape them).
  absl::string_view help;
  std::array<absl::string_view, 5> label_names;  // the unused ones are empty
  absl::string_view meaning;                     // what a reader makes of it
  absl::string_view exists;                      // which series there are, and from when on

  absl::Span<const absl::string_view> labels() const;
};

const MetricInfo& Info(Metric metric);
absl::Span<const MetricInfo> Catalog();
absl::string_view Name(MetricType type);

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_CATALOG_H_
