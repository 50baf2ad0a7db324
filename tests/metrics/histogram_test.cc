#include "metrics/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "metrics/window.h"

namespace mcscope::metrics {
namespace {

constexpr double kNearest = 1e2;    // ns
constexpr double kFarthest = 1e11;  // 100 s

// The sample of rank ceil(q * n) of a sorted array, by whole numbers (q in ten-thousandths).
int64_t Exact(const std::vector<int64_t>& sorted, double q) {
  const auto parts = static_cast<uint64_t>(std::llround(q * 10'000));
  const uint64_t rank = std::max<uint64_t>((sorted.size() * parts + 9'999) / 10'000, 1);
  return sorted[rank - 1];
}

void ExpectWithinOnePercent(std::vector<int64_t> samples) {
  Histogram histogram;
  for (const int64_t sample : samples) histogram.Record(sample);
  std::sort(samples.begin(), samples.end());
  for (const double q : kQuantiles) {
    const int64_t exact = Exact(samples, q);
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(q)), static_cast<double>(exact),
                0.01 * static_cast<double>(exact))
        << "q " << q << " of " << samples.size();
  }
}

TEST(Histogram, BucketsAreContiguousAndHoldTheirMidpoint) {
  for (size_t i = 0; i < kFineBuckets; ++i) {
    EXPECT_EQ(FineIndex(FineLow(i)), i);
    EXPECT_EQ(FineIndex(FineMidpoint(i)), i);
  }
  for (size_t i = 1; i < kFineBuckets; ++i) EXPECT_EQ(FineIndex(FineLow(i) - 1), i - 1);
  EXPECT_EQ(FineIndex(kFineMax), kFineBuckets - 1);
}

TEST(Histogram, EveryValueIsReportedWithinOnePercent) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(std::log(kNearest), std::log(kFarthest));
  for (int i = 0; i < 100'000; ++i) {
    const auto value = static_cast<int64_t>(std::exp(exponent(random)));
    const double error = static_cast<double>(FineMidpoint(FineIndex(value)) - value);
    EXPECT_LE(std::abs(error), 0.01 * static_cast<double>(value)) << value;
  }
}

TEST(Histogram, ValuesOutOfRangeCountAsTheNearestEnd) {
  EXPECT_EQ(FineIndex(-1), 0u);
  EXPECT_EQ(FineIndex(std::numeric_limits<int64_t>::min()), 0u);
  EXPECT_EQ(FineIndex(kFineMax + 1), kFineBuckets - 1);
  EXPECT_EQ(FineIndex(std::numeric_limits<int64_t>::max()), kFineBuckets - 1);
}

TEST(Histogram, QuantilesAreWithinOnePercentOfASortedArrays) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(std::log(kNearest), std::log(kFarthest));
  std::lognormal_distribution<double> latency(std::log(80e3), 0.7);
  std::exponential_distribution<double> gap(1 / 1e6);
  std::bernoulli_distribution stalled(0.02);
  const auto clamp = [](double ns) {
    return static_cast<int64_t>(std::clamp(ns, kNearest, kFarthest));
  };
  for (const size_t size : {1u, 2u, 9u, 10u, 99u, 1'000u, 10'000u, 123'457u}) {
    std::vector<int64_t> wide, normal, tail, two_modes;
    for (size_t i = 0; i < size; ++i) {
      wide.push_back(clamp(std::exp(exponent(random))));
      normal.push_back(clamp(latency(random)));
      tail.push_back(clamp(gap(random)));
      two_modes.push_back(clamp(latency(random) + (stalled(random) ? 40e6 : 0)));
    }
    for (const auto& samples : {wide, normal, tail, two_modes}) ExpectWithinOnePercent(samples);
    ExpectWithinOnePercent(std::vector<int64_t>(size, 44'000'000));
  }
}

TEST(Histogram, AnEmptyOneHasNoCountAndQuantileZero) {
  EXPECT_EQ(Histogram().count(), 0u);
  EXPECT_EQ(Histogram().Quantile(0.5), 0);
}

TEST(Histogram, ARankIsNotMovedByRounding) {
  Histogram histogram;
  for (int64_t value = 1; value <= 100; ++value) histogram.Record(value);
  for (int percent = 1; percent <= 100; ++percent) {
    EXPECT_EQ(histogram.Quantile(percent / 100.0), percent);
  }
  EXPECT_EQ(histogram.Quantile(0), 1);
}

TEST(Histogram, PartsMergedEqualTheWhole) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> exponent(0, std::log(kFarthest));
  Histogram whole, merged;
  std::vector<Histogram> parts(5);
  for (int i = 0; i < 50'000; ++i) {
    const auto value = static_cast<int64_t>(std::exp(exponent(random)));
    whole.Record(value);
    parts[random() % parts.size()].Record(value);
  }
  for (const Histogram& part : parts) merged.Merge(part);
  EXPECT_EQ(merged.count(), whole.count());
  for (size_t i = 0; i < kFineBuckets; ++i) ASSERT_EQ(merged.count_at(i), whole.count_at(i));
  for (const double q : kQuantiles) EXPECT_EQ(merged.Quantile(q), whole.Quantile(q));
}

TEST(Histogram, ClearedItIsEmpty) {
  Histogram histogram;
  histogram.Record(5);
  histogram.Clear();
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.count_at(5), 0u);
}

}  // namespace
}  // namespace mcscope::metrics
