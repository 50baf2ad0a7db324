#include "metrics/recorder.h"

#include "metrics/command_slot.h"

namespace mcscope::metrics {
namespace {

size_t ReadsBucket(uint32_t reads) {
  size_t bucket = 0;
  while (bucket < kReadsEdges.size() && reads > kReadsEdges[bucket]) ++bucket;
  return bucket;
}

}  // namespace

Recorder::Recorder(const BucketBounds* bounds) : bounds_(*bounds) {}

Recorder::~Recorder() {
  for (const std::atomic<CommandSlot*>& slot : slots_) delete slot.load(std::memory_order_relaxed);
}

CommandSlot& Recorder::SlotFor(protocol::Command command, Arm arm) {
  std::atomic<CommandSlot*>& slot = slots_[SlotIndex(command, arm)];
  CommandSlot* known = slot.load(std::memory_order_relaxed);  // only this thread ever stores it
  if (known == nullptr) {
    known = new CommandSlot();
    slot.store(known, std::memory_order_release);
  }
  return *known;
}

void Recorder::ExchangeFinished(const ExchangeSample& sample) {
  CommandSlot& slot = SlotFor(sample.command, sample.arm);
  slot.counts.requests[static_cast<size_t>(sample.result)].Add(1);
  ArmCounts<Counter>& arm = OfArm(sample.arm);
  arm.request_reads.Record(ReadsBucket(sample.reads), sample.reads);
  if (sample.reads > 1) arm.split_requests.Add(1);
  if (sample.answered) {
    RecordAnswered(sample, slot);
  } else {
    RecordUnanswered(sample, slot);
  }
}

void Recorder::RecordAnswered(const ExchangeSample& sample, CommandSlot& slot) {
  const Durations durations = AnsweredDurations(sample.timeline);
  for (size_t leg = 0; leg < kLegCount; ++leg) {
    const int64_t ns = durations.leg[leg];
    const size_t fine = FineIndex(ns);
    slot.fine[leg].Add(fine);
    slot.counts.legs[leg].Record(bounds_.BucketOf(ns, fine), static_cast<uint64_t>(ns));
  }
  const size_t fine = FineIndex(durations.total);
  slot.fine[kTotalSeries].Add(fine);
  slot.counts.durations[static_cast<size_t>(sample.result)].Record(
      bounds_.BucketOf(durations.total, fine), static_cast<uint64_t>(durations.total));
  OfArm(sample.arm)
      .overhead.Record(bounds_.BucketOf(durations.overhead, FineIndex(durations.overhead)),
                       static_cast<uint64_t>(durations.overhead));
  slot.answered.store(slot.answered.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Recorder::RecordUnanswered(const ExchangeSample& sample, CommandSlot& slot) {
  const Durations durations = UnansweredDurations(sample.timeline);
  for (size_t leg = 0; leg < kUnansweredLegCount; ++leg) {
    const int64_t ns = durations.leg[leg];
    slot.counts.unanswered_legs[leg].Record(bounds_.BucketOf(ns, FineIndex(ns)),
                                            static_cast<uint64_t>(ns));
  }
}

void Recorder::ExchangeAborted(protocol::Command command, Arm arm) {
  CountOnly(command, protocol::Result::kAborted, arm);
}

void Recorder::ExchangeAnsweredEarly(protocol::Command command, protocol::Result result, Arm arm) {
  CountOnly(command, result, arm);
}

void Recorder::CountOnly(protocol::Command command, protocol::Result result, Arm arm) {
  SlotFor(command, arm).counts.requests[static_cast<size_t>(result)].Add(1);
}

void Recorder::Stalled(Leg leg, Arm arm) { OfArm(arm).stalls[static_cast<size_t>(leg)].Add(1); }

void Recorder::QuickAckSent(Side side) { OfSide(side).quick_acks.Add(1); }

void Recorder::Received(Side side, size_t bytes) {
  SideCounts<Counter>& counts = OfSide(side);
  counts.reads.Add(1);
  counts.received_bytes.Add(bytes);
}

void Recorder::Written(Side side, size_t bytes) {
  SideCounts<Counter>& counts = OfSide(side);
  counts.writes.Add(1);
  counts.sent_bytes.Add(bytes);
}

void Recorder::SessionOpened() { counts_.sessions.opened.Add(1); }

void Recorder::SessionClosed(CloseCause cause) {
  counts_.sessions.closes[static_cast<size_t>(cause)].Add(1);
}

void Recorder::TunnelOpened(protocol::OpaqueReason reason) {
  counts_.sessions.tunnels[static_cast<size_t>(reason)].Add(1);
}

void Recorder::NoDelayFailed(Side side) { OfSide(side).nodelay_failures.Add(1); }

}  // namespace mcscope::metrics
