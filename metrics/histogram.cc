#include "metrics/histogram.h"

#include <algorithm>
#include <cmath>

namespace mcscope::metrics {
namespace {

constexpr size_t kPerOctave = size_t{1} << kFineOctaveBits;

// How far the values of bucket `index` were shifted; its width is 2 to that power.
int Shift(size_t index) {
  return index < 2 * kPerOctave ? 0 : static_cast<int>(index >> kFineOctaveBits) - 1;
}

}  // namespace

int64_t FineLow(size_t index) {
  const int shift = Shift(index);
  return static_cast<int64_t>(index - (static_cast<size_t>(shift) << kFineOctaveBits)) << shift;
}

int64_t FineMidpoint(size_t index) { return FineLow(index) + (int64_t{1} << Shift(index)) / 2; }

void Histogram::Merge(const Histogram& other) {
  for (size_t i = 0; i < kFineBuckets; ++i) counts_[i] += other.counts_[i];
  total_ += other.total_;
}

int64_t Histogram::Quantile(double q) const {
  if (total_ == 0) return 0;
  // 0.999 * 1000 may come out a hair above 999; that must not move the rank to 1000.
  const double exact = std::ceil(q * static_cast<double>(total_) - 1e-6);
  const uint64_t rank = exact < 1 ? 1 : std::min(total_, static_cast<uint64_t>(exact));
  uint64_t seen = 0;
  for (size_t i = 0; i < kFineBuckets; ++i) {
    seen += counts_[i];
    if (seen >= rank) return FineMidpoint(i);
  }
  return kFineMax;
}

}  // namespace mcscope::metrics
