#include "metrics/bucket_bounds.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mcscope::metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// By the definition of `le`, looking at every edge.
size_t BucketByDefinition(const BucketBounds& bounds, int64_t ns) {
  const auto edges = bounds.edges();
  return static_cast<size_t>(std::lower_bound(edges.begin(), edges.end(), ns) - edges.begin());
}

void ExpectExactAround(const BucketBounds& bounds, int64_t ns) {
  for (int64_t value = std::max<int64_t>(ns - 2, 0); value <= ns + 2; ++value) {
    EXPECT_EQ(bounds.BucketOf(value, FineIndex(value)), BucketByDefinition(bounds, value)) << value;
  }
}

std::string ErrorOf(absl::string_view list) {
  const auto bounds = BucketBounds::Parse(list);
  return bounds.ok() ? "" : std::string(bounds.status().message());
}

TEST(BucketBounds, ReadsSecondsAndUnits) {
  const auto bounds = BucketBounds::Parse("0.00001, 25us,1.5ms,0.25,1.1,5s");
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  EXPECT_THAT(bounds->edges(),
              ElementsAre(10'000, 25'000, 1'500'000, 250'000'000, 1'100'000'000, 5'000'000'000));
}

TEST(BucketBounds, TheDefaultHasEdgesAroundTheTimesThatTcpWaits) {
  const BucketBounds bounds = BucketBounds::Default();
  EXPECT_EQ(bounds.edges().size(), 25u);
  EXPECT_EQ(bounds.edges().front(), 10'000);
  EXPECT_THAT(bounds.edges(),
              ::testing::IsSupersetOf<int64_t>(
                  {35'000'000, 40'000'000, 45'000'000, 200'000'000, 1'100'000'000, 3'100'000'000}));
  EXPECT_EQ(bounds.edges().back(), 5'000'000'000);
}

TEST(BucketBounds, AValueOnAnEdgeIsWithinIt) {
  const BucketBounds bounds = BucketBounds::Default();
  for (size_t i = 0; i < bounds.edges().size(); ++i) {
    const int64_t edge = bounds.edges()[i];
    EXPECT_EQ(bounds.BucketOf(edge, FineIndex(edge)), i);
    EXPECT_EQ(bounds.BucketOf(edge + 1, FineIndex(edge + 1)), i + 1);
    ExpectExactAround(bounds, edge);
  }
}

TEST(BucketBounds, EveryValueFindsTheBucketThatTheDefinitionGives) {
  const BucketBounds bounds = BucketBounds::Default();
  for (size_t i = 0; i < kFineBuckets; ++i) ExpectExactAround(bounds, FineLow(i));
  ExpectExactAround(bounds, kFineMax);
  ExpectExactAround(bounds, int64_t{1} << 60);
}

TEST(BucketBounds, EdgesMayBeCloserThanFineBucketsAreWide) {
  std::vector<std::string> edges;
  edges.reserve(kMaxEdges);
  for (int i = 0; i < 64; ++i) edges.push_back(absl::StrCat(1'000'000'000 + i, "ns"));
  const auto bounds = BucketBounds::Parse(absl::StrJoin(edges, ","));
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  for (int i = -5; i < 70; ++i) ExpectExactAround(*bounds, 1'000'000'000 + i);
}

TEST(BucketBounds, TheWidestEdgesAreExact) {
  const auto bounds = BucketBounds::Parse("1ns,100s");
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  ExpectExactAround(*bounds, 1);
  ExpectExactAround(*bounds, 100'000'000'000);
}

TEST(BucketBounds, SaysWhatIsWrongWithAnEdge) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("at least one"));
  EXPECT_THAT(ErrorOf(" "), HasSubstr("at least one"));
  EXPECT_THAT(ErrorOf("1ms,,2ms"), HasSubstr("empty"));
  EXPECT_THAT(ErrorOf("1ms,"), HasSubstr("empty"));
  EXPECT_THAT(ErrorOf("1ms,soon"), HasSubstr("'soon' is not a duration"));
  EXPECT_THAT(ErrorOf("1 2"), HasSubstr("'1 2' is not a duration"));
  EXPECT_THAT(ErrorOf("inf"), HasSubstr("'inf'"));
  EXPECT_THAT(ErrorOf("0"), HasSubstr("'0' is not above 0"));
  EXPECT_THAT(ErrorOf("-1ms,1ms"), HasSubstr("'-1ms' is not above 0"));
  EXPECT_THAT(ErrorOf("1ms,1000us"), HasSubstr("'1000us' is not above the one before it"));
  EXPECT_THAT(ErrorOf("2ms,1ms"), HasSubstr("'1ms' is not above"));
  EXPECT_THAT(ErrorOf("1ms,101s"), HasSubstr("'101s' is over 100s"));
  EXPECT_THAT(ErrorOf("0.5ns"), HasSubstr("'0.5ns' is no whole number of nanoseconds"));
}

TEST(BucketBounds, TakesSixtyFourEdgesAndNoMore) {
  std::vector<std::string> edges;
  edges.reserve(kMaxEdges + 1);
  for (int i = 1; i <= 64; ++i) edges.push_back(absl::StrCat(i, "ms"));
  EXPECT_EQ(ErrorOf(absl::StrJoin(edges, ",")), "");
  edges.push_back("65ms");
  EXPECT_THAT(ErrorOf(absl::StrJoin(edges, ",")), HasSubstr("more than 64"));
}

}  // namespace
}  // namespace mcscope::metrics
