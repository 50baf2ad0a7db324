// The edges of the classic Prometheus histograms of durations (`--buckets`).
#ifndef MCSCOPE_METRICS_BUCKET_BOUNDS_H_
#define MCSCOPE_METRICS_BUCKET_BOUNDS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "metrics/histogram.h"

namespace mcscope::metrics {

inline constexpr size_t kMaxEdges = 64;
inline constexpr int64_t kMaxEdgeNs = 100'000'000'000;  // 100 s

// Fine steps where requests live, and extra edges around what makes TCP wait: delayed ACKs (40 and
// 200 ms), retransmission (200 ms, 1 s, 3 s).
inline constexpr char kDefaultBuckets[] =
    "10us,20us,50us,100us,200us,500us,1ms,2ms,5ms,10ms,20ms,30ms,35ms,40ms,45ms,50ms,100ms,200ms,"
    "250ms,500ms,1s,1.1s,2.5s,3.1s,5s";

// A constant value after Parse(); any thread may read it.
class BucketBounds {
 public:
  // `list`: comma-separated edges, each a number of seconds ("0.0025") or with a unit ("2500us",
  // "2.5ms", "1s"); strictly increasing, above 0, whole nanoseconds, at most 100 s, at most
  // kMaxEdges of them. The error says which edge is wrong and why.
  static absl::StatusOr<BucketBounds> Parse(absl::string_view list);
  static BucketBounds Default();

  // The upper edges (`le`), ns; +Inf, the last bucket, is not among them.
  absl::Span<const int64_t> edges() const { return absl::MakeConstSpan(edges_.data(), size_); }

  // The bucket of `ns`: the first edge that it does not exceed, or edges().size() for +Inf. Exact.
  // `fine_index` is FineIndex(ns), which the caller has at hand.
  size_t BucketOf(int64_t ns, size_t fine_index) const {
    size_t bucket = first_bucket_[fine_index];
    // One comparison, unless edges lie closer to each other than a fine bucket is wide.
    while (ns > edges_[bucket]) ++bucket;
    return bucket;
  }

 private:
  explicit BucketBounds(absl::Span<const int64_t> edges);

  size_t size_ = 0;
  std::array<int64_t, kMaxEdges + 1> edges_;  // ends with a sentinel that nothing exceeds
  // By fine bucket: the first bucket that a value in it can belong to.
  std::array<uint8_t, kFineBuckets> first_bucket_;
};

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_BUCKET_BOUNDS_H_
