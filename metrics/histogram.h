// Log-linear (HDR-like) histograms of durations, in whole nanoseconds.
//
// Every octave is cut into 64 buckets of equal width, and a bucket reports its midpoint: any value
// up to kFineMax is reported within 1/128 (0.8 %) of itself, and exactly below 128 ns. Values
// outside [0, kFineMax] count as the nearer end of it.
#ifndef MCSCOPE_METRICS_HISTOGRAM_H_
#define MCSCOPE_METRICS_HISTOGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "metrics/counter.h"

namespace mcscope::metrics {

inline constexpr int kFineOctaveBits = 6;  // 64 buckets per octave
inline constexpr int kFineValueBits = 37;
inline constexpr int64_t kFineMax = (int64_t{1} << kFineValueBits) - 1;  // ns; 137 s
inline constexpr size_t kFineBuckets = static_cast<size_t>(kFineValueBits - kFineOctaveBits + 1)
                                       << kFineOctaveBits;

// The bucket of `ns`, in [0, kFineBuckets).
inline size_t FineIndex(int64_t ns) {
  if (ns < 0) ns = 0;
  if (ns > kFineMax) ns = kFineMax;
  const uint64_t value = static_cast<uint64_t>(ns);
  // Below 128 a bucket is 1 ns wide; above, its width is what leaves 7 significant bits.
  const int shift = 63 - kFineOctaveBits - __builtin_clzll(value | (1u << kFineOctaveBits));
  return (static_cast<size_t>(shift) << kFineOctaveBits) + static_cast<size_t>(value >> shift);
}

int64_t FineLow(size_t index);       // the smallest value of bucket `index`, ns
int64_t FineMidpoint(size_t index);  // the value that bucket `index` reports, ns

// A plain histogram: a value, for one thread. What several threads or runs recorded is added up,
// and the sum is the same as if one histogram had recorded everything.
class Histogram {
 public:
  void Record(int64_t ns) { Add(FineIndex(ns), 1); }
  void Add(size_t index, uint64_t count) {
    counts_[index] += count;
    total_ += count;
  }
  void Merge(const Histogram& other);
  void Clear() { *this = Histogram(); }

  uint64_t count() const { return total_; }
  uint64_t count_at(size_t index) const { return counts_[index]; }

  // The value (ns) that a share `q` in [0, 1] of the samples does not exceed: the sample of rank
  // ceil(q * count), at least the first, as its bucket's midpoint. 0 when there are no samples.
  int64_t Quantile(double q) const;

 private:
  std::array<uint64_t, kFineBuckets> counts_ = {};
  uint64_t total_ = 0;
};

// The same buckets, written by one thread and readable by any other at any time. Each count wraps
// at 2^32: readers work with differences, which are right as long as fewer samples than that lie
// between two looks.
class LiveHistogram {
 public:
  void Add(size_t index) { counts_[index].Add(1); }
  uint32_t count_at(size_t index) const { return counts_[index].Get(); }

 private:
  std::array<SingleWriterCounter<uint32_t>, kFineBuckets> counts_;
};

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_HISTOGRAM_H_
