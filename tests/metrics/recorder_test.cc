#include "metrics/recorder.h"

#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>

#include "gtest/gtest.h"
#include "metrics/command_slot.h"
#include "metrics/recorder_reader.h"
#include "tests/support/allocations.h"

namespace mcscope::metrics {
namespace {

using protocol::Command;
using protocol::Result;

// An answered get whose legs take 1, 2, 4, 8 and 16 times `unit` ns.
ExchangeSample Answered(int64_t unit, Arm arm = Arm::kA) {
  return {
      Command::kGet,
      Result::kHit,
      arm,
      1,
      true,
      {1000, 1000 + unit, 1000 + 3 * unit, 1000 + 7 * unit, 1000 + 15 * unit, 1000 + 31 * unit}};
}

ExchangeSample Unanswered() {
  return {Command::kSet, Result::kNone, Arm::kA, 3, false, {1000, 2000, 5000, 0, 0, 0}};
}

template <typename Counts>
uint64_t Total(const Counts& counts) {
  return std::accumulate(counts.buckets.begin(), counts.buckets.end(), uint64_t{0});
}

class RecorderTest : public ::testing::Test {
 protected:
  RouteCounts<uint64_t> Route() const {
    RouteCounts<uint64_t> counts;
    RecorderReader(&recorder_).AddTo(&counts);
    return counts;
  }
  CommandCounts<uint64_t> Of(Command command, Arm arm = Arm::kA) const {
    CommandCounts<uint64_t> counts;
    RecorderReader(&recorder_).AddTo(command, arm, &counts);
    return counts;
  }
  uint64_t Requests(Command command, Result result, Arm arm = Arm::kA) const {
    return Of(command, arm).requests[static_cast<size_t>(result)];
  }

  const BucketBounds bounds_ = BucketBounds::Default();
  Recorder recorder_{&bounds_};
};

TEST_F(RecorderTest, AnAnsweredExchangeIsInEachLegAndTheTotalOnce) {
  recorder_.ExchangeFinished(Answered(10'000));
  const CommandCounts<uint64_t> counts = Of(Command::kGet);
  const size_t buckets[] = {0, 1, 2, 3, 4};  // 10, 20, 40, 80 and 160 us
  for (size_t leg = 0; leg < kLegCount; ++leg) {
    EXPECT_EQ(counts.legs[leg].buckets[buckets[leg]], 1u);
    EXPECT_EQ(Total(counts.legs[leg]), 1u);
    EXPECT_EQ(counts.legs[leg].sum, 10'000u << leg);
  }
  const auto& total = counts.durations[static_cast<size_t>(Result::kHit)];
  EXPECT_EQ(total.buckets[5], 1u);  // 310 us
  EXPECT_EQ(total.sum, 310'000u);
  EXPECT_EQ(Total(counts.unanswered_legs[0]), 0u);
}

TEST_F(RecorderTest, TheFineHistogramsHoldEachLegAndTheTotal) {
  recorder_.ExchangeFinished(Answered(10'000));
  const CommandSlot* slot = RecorderReader(&recorder_).Slot(Command::kGet, Arm::kA);
  ASSERT_NE(slot, nullptr);
  for (size_t leg = 0; leg < kLegCount; ++leg) {
    EXPECT_EQ(slot->fine[leg].count_at(FineIndex(10'000 << leg)), 1u);
  }
  EXPECT_EQ(slot->fine[kTotalSeries].count_at(FineIndex(310'000)), 1u);
  EXPECT_EQ(slot->answered.load(), 1u);
}

TEST_F(RecorderTest, OverheadIsAddedPerExchange) {
  recorder_.ExchangeFinished(Answered(10'000, Arm::kB));
  const RouteCounts<uint64_t> counts = Route();
  EXPECT_EQ(counts.arms[1].overhead.sum, 20'000u + 160'000u);
  EXPECT_EQ(Total(counts.arms[1].overhead), 1u);
  EXPECT_EQ(Total(counts.arms[0].overhead), 0u);
}

TEST_F(RecorderTest, AnUnansweredExchangeIsKeptApart) {
  recorder_.ExchangeFinished(Unanswered());
  const CommandCounts<uint64_t> counts = Of(Command::kSet);
  EXPECT_EQ(Requests(Command::kSet, Result::kNone), 1u);
  EXPECT_EQ(counts.unanswered_legs[0].sum, 1000u);
  EXPECT_EQ(counts.unanswered_legs[1].sum, 3000u);
  for (const auto& leg : counts.legs) EXPECT_EQ(Total(leg), 0u);
  for (const auto& duration : counts.durations) EXPECT_EQ(Total(duration), 0u);
  EXPECT_EQ(Total(Route().arms[0].overhead), 0u);
  EXPECT_EQ(RecorderReader(&recorder_).Slot(Command::kSet, Arm::kA)->answered.load(), 0u);
}

TEST_F(RecorderTest, ReadsPerRequestTellSplitOnesFromWholeOnes) {
  ExchangeSample sample = Answered(1000);
  for (const uint32_t reads : {1u, 1u, 2u, 5u, 6u, 64u, 65u, 4'000'000'000u}) {
    sample.reads = reads;
    recorder_.ExchangeFinished(sample);
  }
  const ArmCounts<uint64_t> counts = Route().arms[0];
  EXPECT_EQ(counts.request_reads.buckets, (std::array<uint64_t, 10>{2, 1, 0, 0, 1, 1, 0, 0, 1, 2}));
  EXPECT_EQ(counts.request_reads.sum, 4'000'000'144u);
  EXPECT_EQ(counts.split_requests, 6u);
}

TEST_F(RecorderTest, AbortedAndEarlyAnsweredExchangesAreCountedInNoHistogram) {
  recorder_.ExchangeAborted(Command::kGet, Arm::kB);
  recorder_.ExchangeAnsweredEarly(Command::kSet, Result::kError, Arm::kA);
  EXPECT_EQ(Requests(Command::kGet, Result::kAborted, Arm::kB), 1u);
  EXPECT_EQ(Requests(Command::kSet, Result::kError), 1u);
  for (const auto& counts : {Of(Command::kGet, Arm::kB), Of(Command::kSet)}) {
    for (const auto& leg : counts.legs) EXPECT_EQ(Total(leg), 0u);
    for (const auto& duration : counts.durations) EXPECT_EQ(Total(duration), 0u);
  }
  EXPECT_EQ(Total(Route().arms[0].request_reads), 0u);
}

TEST_F(RecorderTest, EverythingElseIsCountedWhereItHappened) {
  recorder_.Stalled(Leg::kClientRead, Arm::kB);
  recorder_.QuickAckSent(Side::kUpstream);
  recorder_.Received(Side::kClient, 100);
  recorder_.Received(Side::kClient, 50);
  recorder_.Written(Side::kUpstream, 150);
  recorder_.NoDelayFailed(Side::kClient);
  recorder_.SessionOpened();
  recorder_.SessionClosed(CloseCause::kDrain);
  recorder_.TunnelOpened(protocol::OpaqueReason::kUnsure);
  const RouteCounts<uint64_t> counts = Route();
  EXPECT_EQ(counts.arms[1].stalls[0], 1u);
  EXPECT_EQ(counts.sides[1].quick_acks, 1u);
  EXPECT_EQ(counts.sides[0].reads, 2u);
  EXPECT_EQ(counts.sides[0].received_bytes, 150u);
  EXPECT_EQ(counts.sides[1].writes, 1u);
  EXPECT_EQ(counts.sides[1].sent_bytes, 150u);
  EXPECT_EQ(counts.sides[0].nodelay_failures, 1u);
  EXPECT_EQ(counts.sessions.opened, 1u);
  EXPECT_EQ(counts.sessions.closes.back(), 1u);
  EXPECT_EQ(counts.sessions.tunnels.back(), 1u);
}

TEST_F(RecorderTest, ACommandIsThereOnceSeen) {
  const RecorderReader reader(&recorder_);
  EXPECT_EQ(reader.Slot(Command::kGet, Arm::kA), nullptr);
  CommandCounts<uint64_t> counts;
  EXPECT_FALSE(reader.AddTo(Command::kGet, Arm::kA, &counts));
  recorder_.ExchangeFinished(Answered(1000));
  EXPECT_TRUE(reader.AddTo(Command::kGet, Arm::kA, &counts));
  EXPECT_FALSE(reader.AddTo(Command::kGet, Arm::kB, &counts));
}

TEST_F(RecorderTest, SeveralWorkersAddUp) {
  Recorder other(&bounds_);
  recorder_.ExchangeFinished(Answered(1000));
  other.ExchangeFinished(Answered(1000));
  other.ExchangeFinished(Unanswered());
  CommandCounts<uint64_t> counts = Of(Command::kGet);
  RecorderReader(&other).AddTo(Command::kGet, Arm::kA, &counts);
  EXPECT_EQ(counts.requests[static_cast<size_t>(Result::kHit)], 2u);
  EXPECT_EQ(counts.legs[0].sum, 2000u);
}

TEST_F(RecorderTest, RecordingAllocatesNothingOnceACommandIsSeen) {
  recorder_.ExchangeFinished(Answered(1000));
  recorder_.ExchangeFinished(Unanswered());
  const uint64_t before = test::AllocationsOfThisThread();
  for (int64_t i = 0; i < 100'000; ++i) {
    recorder_.ExchangeFinished(Answered(i * 997));
    recorder_.ExchangeFinished(Unanswered());
    recorder_.ExchangeAborted(Command::kGet, Arm::kA);
    recorder_.Received(Side::kClient, 100);
  }
  EXPECT_EQ(test::AllocationsOfThisThread(), before);
  recorder_.ExchangeFinished(Answered(1000, Arm::kB));
  EXPECT_GT(test::AllocationsOfThisThread(), before) << "the counter counts nothing";
}

TEST_F(RecorderTest, TenCommandsOnTwoArmsAndTwoWorkersTakeAFewMebibytes) {
  EXPECT_LT(sizeof(Recorder), 64u * 1024);
  EXPECT_LT(10 * kArmCount * 2 * sizeof(CommandSlot), 3u * 1024 * 1024);
}

TEST_F(RecorderTest, AnotherThreadReadsWhileTheWorkerWrites) {
  constexpr uint64_t kExchanges = 50'000;
  std::atomic<bool> done{false};
  std::thread worker([&] {
    recorder_.SessionOpened();
    for (uint64_t i = 0; i < kExchanges; ++i) {
      recorder_.Received(Side::kClient, 10);
      recorder_.ExchangeFinished(Answered(static_cast<int64_t>(i), i % 2 == 0 ? Arm::kA : Arm::kB));
    }
    recorder_.SessionClosed(CloseCause::kClientClosed);
    done = true;
  });
  uint64_t last = 0;
  while (!done) {
    const uint64_t seen = Requests(Command::kGet, Result::kHit);
    EXPECT_GE(seen, last);
    last = seen;
    const RouteCounts<uint64_t> counts = Route();
    EXPECT_LE(counts.sessions.closes[0], counts.sessions.opened);
  }
  worker.join();
  EXPECT_EQ(Requests(Command::kGet, Result::kHit) + Requests(Command::kGet, Result::kHit, Arm::kB),
            kExchanges);
  EXPECT_EQ(Route().sides[0].received_bytes, 10 * kExchanges);
}

}  // namespace
}  // namespace mcscope::metrics
