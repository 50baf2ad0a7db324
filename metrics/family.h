// Builds the metric families of one scrape from the catalog.
#ifndef MCSCOPE_METRICS_FAMILY_H_
#define MCSCOPE_METRICS_FAMILY_H_

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "metrics/catalog.h"
#include "prometheus/metric_family.h"

namespace mcscope::metrics {

// The values of a metric's labels, in the catalog's order; as many as it has.
using LabelValues = std::initializer_list<absl::string_view>;

// Every family of the catalog, in its order. Used within one Collect().
class FamilySet {
 public:
  FamilySet();

  // A sample of a counter or a gauge.
  void Add(Metric metric, LabelValues labels, double value);
  // A histogram: `buckets` are not cumulative and have one more than `edges`, for +Inf; edges and
  // `sum` in the metric's unit. Its count is the sum of `buckets`, so that the two agree.
  void AddHistogram(Metric metric, LabelValues labels, absl::Span<const double> edges,
                    absl::Span<const uint64_t> buckets, double sum);

  // The families; one without samples keeps its HELP and TYPE.
  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  prometheus::ClientMetric& AddSample(Metric metric, LabelValues labels);

  std::vector<prometheus::MetricFamily> families_;  // by Metric
};

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_FAMILY_H_
