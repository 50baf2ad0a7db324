#include "metrics/family.h"

#include <cstdlib>
#include <limits>
#include <string>

namespace mcscope::metrics {
namespace {

prometheus::MetricType Convert(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

FamilySet::FamilySet() {
  families_.reserve(kMetricCount);
  for (const MetricInfo& info : Catalog()) {
    prometheus::MetricFamily family;
    family.name = std::string(info.name);
    family.help = std::string(info.help);
    family.type = Convert(info.type);
    families_.push_back(std::move(family));
  }
}

prometheus::ClientMetric& FamilySet::AddSample(Metric metric, LabelValues labels) {
  const absl::Span<const absl::string_view> names = Info(metric).labels();
  if (names.size() != labels.size()) std::abort();  // a caller that does not know its metric
  prometheus::ClientMetric& sample = families_[static_cast<size_t>(metric)].metric.emplace_back();
  sample.label.reserve(names.size());
  auto value = labels.begin();
  for (const absl::string_view name : names) {
    sample.label.push_back({std::string(name), std::string(*value++)});
  }
  return sample;
}

void FamilySet::Add(Metric metric, LabelValues labels, double value) {
  prometheus::ClientMetric& sample = AddSample(metric, labels);
  if (Info(metric).type == MetricType::kCounter) {
    sample.counter.value = value;
  } else {
    sample.gauge.value = value;
  }
}

void FamilySet::AddHistogram(Metric metric, LabelValues labels, absl::Span<const double> edges,
                             absl::Span<const uint64_t> buckets, double sum) {
  prometheus::ClientMetric::Histogram& histogram = AddSample(metric, labels).histogram;
  histogram.bucket.reserve(buckets.size());
  for (size_t i = 0; i < buckets.size(); ++i) {
    histogram.sample_count += buckets[i];
    histogram.bucket.push_back(
        {histogram.sample_count,
         i < edges.size() ? edges[i] : std::numeric_limits<double>::infinity()});
  }
  histogram.sample_sum = sum;
}

}  // namespace mcscope::metrics
