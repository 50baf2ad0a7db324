// The canonical process_* metrics, read from the kernel when asked.
#ifndef MCSCOPE_METRICS_PROCESS_METRICS_H_
#define MCSCOPE_METRICS_PROCESS_METRICS_H_

#include <optional>

#include "metrics/family.h"

namespace mcscope::metrics {

// Of this process. What the kernel does not tell (no /proc) is left out. Any thread, one at a time.
class ProcessMetrics {
 public:
  ProcessMetrics();
  void AddTo(FamilySet* families) const;

 private:
  std::optional<double> start_time_;  // seconds since the Unix epoch
};

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_PROCESS_METRICS_H_
