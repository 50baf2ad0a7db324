#include "metrics/leg.h"

#include <cstdint>
#include <numeric>
#include <random>

#include "gtest/gtest.h"

namespace mcscope::metrics {
namespace {

int64_t SumOfLegs(const Durations& durations) {
  return std::accumulate(durations.leg.begin(), durations.leg.end(), int64_t{0});
}

TEST(Leg, EachLegLiesBetweenItsTwoMoments) {
  const Durations durations = AnsweredDurations({100, 101, 103, 107, 115, 131});
  EXPECT_EQ(durations.leg, (std::array<int64_t, kLegCount>{1, 2, 4, 8, 16}));
  EXPECT_EQ(durations.total, 31);
  EXPECT_EQ(durations.overhead, 2 + 16);
}

TEST(Leg, AMomentBeforeItsPredecessorCountsAsSimultaneous) {
  // The reply's first byte seems to come before the request was handed over.
  const Durations durations = AnsweredDurations({100, 110, 130, 120, 140, 150});
  EXPECT_EQ(durations.leg, (std::array<int64_t, kLegCount>{10, 20, 0, 10, 10}));
  EXPECT_EQ(durations.total, 50);
}

TEST(Leg, LegsAddUpToTheTotalWhateverTheMoments) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> moment(0, 1'000'000'000'000);
  for (int i = 0; i < 10'000; ++i) {
    const Timeline timeline = {moment(random), moment(random), moment(random),
                               moment(random), moment(random), moment(random)};
    for (const Durations& durations :
         {AnsweredDurations(timeline), UnansweredDurations(timeline)}) {
      EXPECT_EQ(SumOfLegs(durations), durations.total);
      for (const int64_t leg : durations.leg) EXPECT_GE(leg, 0);
    }
  }
}

TEST(Leg, AnUnansweredExchangeHasTwoLegs) {
  const Durations durations = UnansweredDurations({100, 101, 103, 0, 0, 0});
  EXPECT_EQ(durations.leg, (std::array<int64_t, kLegCount>{1, 2, 0, 0, 0}));
  EXPECT_EQ(durations.total, 3);
  EXPECT_EQ(durations.overhead, 2);
}

}  // namespace
}  // namespace mcscope::metrics
