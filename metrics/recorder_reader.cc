#include "metrics/recorder_reader.h"

#include "metrics/command_slot.h"

namespace mcscope::metrics {
namespace {

void Sum(const Counter& from, uint64_t* to) { *to += from.Get(); }

template <size_t kBuckets>
void Sum(const ClassicCounts<Counter, kBuckets>& from, ClassicCounts<uint64_t, kBuckets>* to);

template <typename From, typename To, size_t kSize>
void Sum(const std::array<From, kSize>& from, std::array<To, kSize>* to) {
  for (size_t i = 0; i < kSize; ++i) Sum(from[i], &(*to)[i]);
}

template <size_t kBuckets>
void Sum(const ClassicCounts<Counter, kBuckets>& from, ClassicCounts<uint64_t, kBuckets>* to) {
  Sum(from.buckets, &to->buckets);
  Sum(from.sum, &to->sum);
}

void Sum(const ArmCounts<Counter>& from, ArmCounts<uint64_t>* to) {
  Sum(from.overhead, &to->overhead);
  Sum(from.request_reads, &to->request_reads);
  Sum(from.split_requests, &to->split_requests);
  Sum(from.stalls, &to->stalls);
}

void Sum(const SideCounts<Counter>& from, SideCounts<uint64_t>* to) {
  Sum(from.reads, &to->reads);
  Sum(from.writes, &to->writes);
  Sum(from.received_bytes, &to->received_bytes);
  Sum(from.sent_bytes, &to->sent_bytes);
  Sum(from.quick_acks, &to->quick_acks);
  Sum(from.nodelay_failures, &to->nodelay_failures);
}

}  // namespace

void RecorderReader::AddTo(RouteCounts<uint64_t>* sum) const {
  const RouteCounts<Counter>& counts = recorder_.counts_;
  for (size_t i = 0; i < kArmCount; ++i) Sum(counts.arms[i], &sum->arms[i]);
  for (size_t i = 0; i < kSideCount; ++i) Sum(counts.sides[i], &sum->sides[i]);
  // Closes before opens: a session that ends in between must not be closed without being opened.
  Sum(counts.sessions.closes, &sum->sessions.closes);
  Sum(counts.sessions.tunnels, &sum->sessions.tunnels);
  Sum(counts.sessions.opened, &sum->sessions.opened);
}

bool RecorderReader::AddTo(protocol::Command command, Arm arm, CommandCounts<uint64_t>* sum) const {
  const CommandSlot* slot = Slot(command, arm);
  if (slot == nullptr) return false;
  Sum(slot->counts.requests, &sum->requests);
  Sum(slot->counts.legs, &sum->legs);
  Sum(slot->counts.durations, &sum->durations);
  Sum(slot->counts.unanswered_legs, &sum->unanswered_legs);
  return true;
}

const CommandSlot* RecorderReader::Slot(protocol::Command command, Arm arm) const {
  return recorder_.slots_[SlotIndex(command, arm)].load(std::memory_order_acquire);
}

}  // namespace mcscope::metrics
