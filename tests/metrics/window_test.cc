#include "metrics/window.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace mcscope::metrics {
namespace {

using protocol::Command;
using protocol::Result;

constexpr int64_t kSecond = 1'000'000'000;

class WindowTest : public ::testing::Test {
 protected:
  // An exchange that spends `ns` waiting for memcached, and no time elsewhere.
  void Record(int64_t ns, Command command = Command::kGet, Arm arm = Arm::kA, int worker = 0) {
    (worker == 0 ? recorder_ : other_)
        .ExchangeFinished({command, Result::kHit, arm, 1, true, {0, 0, 0, ns, ns, ns}});
  }

  static std::optional<WindowQuantiles> Find(const std::vector<WindowQuantiles>& all, int seconds,
                                             std::optional<Leg> leg = std::nullopt,
                                             Arm arm = Arm::kA,
                                             std::optional<Command> command = std::nullopt) {
    for (const WindowQuantiles& window : all) {
      if (window.window_seconds == seconds && window.leg == leg && window.arm == arm &&
          window.command == command) {
        return window;
      }
    }
    return std::nullopt;
  }
  uint64_t Count(int64_t now, int seconds) const {
    const auto window = Find(windows_.OfAllCommands(now), seconds);
    return window.has_value() ? window->count : 0;
  }

  const BucketBounds bounds_ = BucketBounds::Default();
  Recorder recorder_{&bounds_};
  Recorder other_{&bounds_};
  Windows windows_{{&recorder_, &other_}};
};

TEST_F(WindowTest, WithoutSamplesThereIsNoWindow) {
  windows_.Tick(kSecond);
  EXPECT_TRUE(windows_.OfAllCommands(kSecond).empty());
  EXPECT_TRUE(windows_.OfEachCommand(kSecond).empty());
}

TEST_F(WindowTest, ASampleLeavesEachWindowWhenItsTimeIsOver) {
  for (int64_t second = 1; second <= 80; ++second) {
    if (second == 5) Record(1000);
    const int64_t now = second * kSecond;
    windows_.Tick(now);
    EXPECT_EQ(Count(now, 10), second >= 5 && second < 15 ? 1u : 0u) << second;
    EXPECT_EQ(Count(now, 60), second >= 5 && second < 65 ? 1u : 0u) << second;
  }
}

TEST_F(WindowTest, WindowsEndByTimeWhenTicksStop) {
  Record(1000);
  windows_.Tick(kSecond);
  EXPECT_EQ(Count(kSecond, 10), 1u);
  EXPECT_EQ(Count(11 * kSecond, 10), 0u);
  EXPECT_EQ(Count(11 * kSecond, 60), 1u);
  EXPECT_EQ(Count(61 * kSecond, 60), 0u);
}

TEST_F(WindowTest, AfterMissedTicksTheGainBelongsToTheTimeItWasTaken) {
  windows_.Tick(kSecond);
  Record(1000);
  windows_.Tick(31 * kSecond);
  Record(1000);
  windows_.Tick(32 * kSecond);
  EXPECT_EQ(Count(32 * kSecond, 10), 2u);
  EXPECT_EQ(Count(41 * kSecond, 10), 1u);
  EXPECT_EQ(Count(42 * kSecond, 10), 0u);
}

TEST_F(WindowTest, TicksTooCloseTogetherLoseNothingAndTakeNoMoreMemory) {
  size_t most = 0;
  for (int64_t now = 0; now < 130 * kSecond; now += kSecond / 100) {
    Record(1000);
    windows_.Tick(now);
    most = std::max(most, windows_.slice_bytes());
  }
  EXPECT_LT(most, 121u * 1024);
  EXPECT_NEAR(static_cast<double>(Count(130 * kSecond, 10)), 1000, 100);
}

TEST_F(WindowTest, QuantilesAreOfAllSamplesInTheWindow) {
  std::vector<int64_t> samples;
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> latency(11, 1);
  Histogram whole;
  for (int64_t second = 1; second <= 10; ++second) {
    for (int i = 0; i < 1000; ++i) {
      const auto ns = static_cast<int64_t>(latency(random)) * second;
      Record(ns, Command::kGet, Arm::kA, i % 2);
      whole.Record(ns);
    }
    windows_.Tick(second * kSecond);
  }
  const auto window = Find(windows_.OfAllCommands(10 * kSecond), 10, Leg::kUpstreamWait);
  ASSERT_TRUE(window.has_value());
  EXPECT_EQ(window->count, 10'000u);
  for (size_t i = 0; i < kQuantiles.size(); ++i) {
    EXPECT_EQ(window->value_ns[i], whole.Quantile(kQuantiles[i]));
  }
}

TEST_F(WindowTest, CommandsArmsAndLegsAreKeptApart) {
  Record(1'000, Command::kGet, Arm::kA);
  Record(1'000'000, Command::kSet, Arm::kA);
  Record(50, Command::kSet, Arm::kB);
  windows_.Tick(kSecond);
  const auto each = windows_.OfEachCommand(kSecond);
  const auto get = Find(each, 10, Leg::kUpstreamWait, Arm::kA, Command::kGet);
  const auto set = Find(each, 10, std::nullopt, Arm::kA, Command::kSet);
  const auto set_b = Find(each, 60, std::nullopt, Arm::kB, Command::kSet);
  ASSERT_TRUE(get.has_value() && set.has_value() && set_b.has_value());
  EXPECT_EQ(get->value_ns.back(), FineMidpoint(FineIndex(1'000)));
  EXPECT_EQ(set->value_ns.back(), FineMidpoint(FineIndex(1'000'000)));
  EXPECT_EQ(set_b->value_ns.back(), 50);
  EXPECT_FALSE(Find(each, 10, std::nullopt, Arm::kB, Command::kGet).has_value());
  EXPECT_EQ(each.size(), 3 * kSeriesCount * kWindowSeconds.size());

  const auto all = windows_.OfAllCommands(kSecond);
  EXPECT_EQ(Find(all, 10)->count, 2u);
  EXPECT_EQ(Find(all, 10, Leg::kClientWrite, Arm::kB)->count, 1u);
  EXPECT_EQ(Find(all, 10, Leg::kClientWrite)->value_ns.back(), 0);
  EXPECT_EQ(all.size(), 2 * kSeriesCount * kWindowSeconds.size());
}

TEST_F(WindowTest, UnansweredExchangesAreInNoWindow) {
  recorder_.ExchangeFinished({Command::kSet, Result::kNone, Arm::kA, 1, false, {0, 1, 2, 0, 0, 0}});
  windows_.Tick(kSecond);
  EXPECT_TRUE(windows_.OfAllCommands(kSecond).empty());
}

TEST_F(WindowTest, TicksWhileWorkersWriteLoseNoSample) {
  constexpr int kExchanges = 20'000;
  std::atomic<int> running{2};
  const auto work = [&](int worker) {
    for (int i = 0; i < kExchanges; ++i) Record(i, Command::kGet, Arm::kA, worker);
    --running;
  };
  std::thread first(work, 0), second(work, 1);
  int64_t now = kSecond;
  uint64_t taken = 0;
  // Ten minutes of the caller's time between ticks: each window holds one slice.
  const auto tick = [&] {
    now += 600 * kSecond;
    windows_.Tick(now);
    taken += Count(now, 10);
  };
  while (running > 0) tick();
  first.join();
  second.join();
  tick();
  EXPECT_EQ(taken, 2u * kExchanges);
}

TEST(SeriesName, IsTheLegOrTotal) {
  EXPECT_EQ(SeriesName(Leg::kUpstreamRead), "upstream_read");
  EXPECT_EQ(SeriesName(std::nullopt), "total");
}

}  // namespace
}  // namespace mcscope::metrics
