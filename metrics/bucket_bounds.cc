#include "metrics/bucket_bounds.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

namespace mcscope::metrics {
namespace {

absl::Status Invalid(absl::string_view edge, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("bucket edge '", edge, "' ", why));
}

absl::StatusOr<int64_t> ParseEdge(absl::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError("a bucket edge is empty");
  const char last = text.back();
  const std::string with_unit =
      absl::StrCat(text, absl::ascii_isdigit(last) || last == '.' ? "s" : "");
  absl::Duration duration;
  // Parsed as a decimal, not through a double: 1.1 must be 1,100,000,000 ns.
  if (!absl::ParseDuration(with_unit, &duration)) {
    return Invalid(text, "is not a duration: write seconds, or a number with ns, us, ms or s");
  }
  if (duration <= absl::ZeroDuration()) return Invalid(text, "is not above 0");
  if (duration > absl::Nanoseconds(kMaxEdgeNs)) return Invalid(text, "is over 100s");
  const int64_t ns = absl::ToInt64Nanoseconds(duration);
  if (absl::Nanoseconds(ns) != duration) return Invalid(text, "is no whole number of nanoseconds");
  return ns;
}

}  // namespace

absl::StatusOr<BucketBounds> BucketBounds::Parse(absl::string_view list) {
  if (absl::StripAsciiWhitespace(list).empty()) {
    return absl::InvalidArgumentError("at least one bucket edge is needed");
  }
  std::vector<int64_t> edges;
  for (absl::string_view piece : absl::StrSplit(list, ',')) {
    const absl::string_view text = absl::StripAsciiWhitespace(piece);
    const absl::StatusOr<int64_t> edge = ParseEdge(text);
    if (!edge.ok()) return edge.status();
    if (!edges.empty() && *edge <= edges.back()) {
      return Invalid(text, "is not above the one before it");
    }
    if (edges.size() == kMaxEdges) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are more than ", kMaxEdges, " bucket edges"));
    }
    edges.push_back(*edge);
  }
  return BucketBounds(edges);
}

BucketBounds BucketBounds::Default() { return *Parse(kDefaultBuckets); }

BucketBounds::BucketBounds(absl::Span<const int64_t> edges) : size_(edges.size()) {
  edges_.fill(std::numeric_limits<int64_t>::max());
  std::copy(edges.begin(), edges.end(), edges_.begin());
  size_t bucket = 0;
  for (size_t i = 0; i < kFineBuckets; ++i) {
    while (edges_[bucket] < FineLow(i)) ++bucket;
    first_bucket_[i] = static_cast<uint8_t>(bucket);
  }
}

}  // namespace mcscope::metrics
