// What /metrics shows, gathered when asked: all workers' recorders added up, by the catalog.
#ifndef MCSCOPE_METRICS_COLLECTOR_H_
#define MCSCOPE_METRICS_COLLECTOR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "metrics/bucket_bounds.h"
#include "metrics/family.h"
#include "metrics/process_metrics.h"
#include "metrics/recorder.h"
#include "metrics/window.h"
#include "prometheus/collectable.h"

namespace mcscope::metrics {

struct CollectorRoute {
  std::string name;                        // the `route` label
  std::vector<const Recorder*> recorders;  // of all workers
  const Windows* windows;                  // over the same recorders
  std::function<uint64_t()> accept_pauses;
};

struct SettingSample {
  std::string name;
  double value = 0;      // 1 and 0 for on and off
  uint64_t changes = 0;  // since the start
};

struct BuildInfo {
  std::string version;
  std::string compiler;
  std::string libevent;
  std::string clocksource;
};

// Whatever is pointed at outlives the collector; the functions are called within Collect() only.
struct CollectorSources {
  const BucketBounds* bounds;  // the recorders'
  std::vector<CollectorRoute> routes;
  std::function<std::vector<SettingSample>()> settings;
  std::function<int64_t()> now_ns;  // the clock of Windows::Tick()
  BuildInfo build;
};

// Used by the admin thread alone; it disturbs no worker. Serve it with prometheus::TextSerializer.
class Collector : public prometheus::Collectable {
 public:
  explicit Collector(CollectorSources sources);

  // Every family of the catalog. Counters are whole numbers; a histogram's count is that of its
  // buckets, read once.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  void AddCommands(const CollectorRoute& route, FamilySet* families) const;
  void AddCommand(const CollectorRoute& route, protocol::Command command, Arm arm,
                  const CommandCounts<uint64_t>& counts, FamilySet* families) const;
  void AddArms(const CollectorRoute& route, const RouteCounts<uint64_t>& counts,
               FamilySet* families) const;
  void AddQuantiles(const CollectorRoute& route, FamilySet* families) const;
  void AddSettings(FamilySet* families) const;
  void AddDurations(Metric metric, LabelValues labels, const DurationCounts<uint64_t>& counts,
                    FamilySet* families) const;

  const CollectorSources sources_;
  const ProcessMetrics process_;
  std::vector<double> edges_;  // of the durations, seconds
};

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_COLLECTOR_H_
