// What is counted, once: the recorder keeps these records in cells that other threads can read
// (Cell = Counter), the collector adds them up into plain numbers (Cell = uint64_t).
#ifndef MCSCOPE_METRICS_COUNTS_H_
#define MCSCOPE_METRICS_COUNTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "metrics/bucket_bounds.h"
#include "metrics/counter.h"
#include "metrics/labels.h"
#include "metrics/leg.h"
#include "protocol/command.h"
#include "protocol/step.h"

namespace mcscope::metrics {

// The legs that an exchange without a reply has.
inline constexpr size_t kUnansweredLegCount = 2;

// A classic histogram: how many values fell into each bucket (not cumulative), and their sum.
template <typename Cell, size_t kBuckets>
struct ClassicCounts {
  void Record(size_t bucket, uint64_t value) {
    buckets[bucket].Add(1);
    sum.Add(value);
  }
  std::array<Cell, kBuckets> buckets = {};
  Cell sum = {};
};

template <typename Cell>
using DurationCounts = ClassicCounts<Cell, kMaxEdges + 1>;  // ns

// Of one command on one arm.
template <typename Cell>
struct CommandCounts {
  std::array<Cell, protocol::kResultCount> requests = {};
  std::array<DurationCounts<Cell>, kLegCount> legs = {};                    // answered
  std::array<DurationCounts<Cell>, protocol::kResultCount> durations = {};  // answered: the total
  std::array<DurationCounts<Cell>, kUnansweredLegCount> unanswered_legs = {};
};

inline constexpr std::array<uint32_t, 9> kReadsEdges = {1, 2, 3, 4, 5, 8, 16, 32, 64};

// Of one arm.
template <typename Cell>
struct ArmCounts {
  DurationCounts<Cell> overhead = {};
  ClassicCounts<Cell, kReadsEdges.size() + 1> request_reads = {};
  Cell split_requests = {};
  std::array<Cell, kLegCount> stalls = {};
};

// Of one side.
template <typename Cell>
struct SideCounts {
  Cell reads = {};
  Cell writes = {};
  Cell received_bytes = {};
  Cell sent_bytes = {};
  Cell quick_acks = {};
  Cell nodelay_failures = {};
};

template <typename Cell>
struct SessionCounts {
  Cell opened = {};
  std::array<Cell, kCloseCauseCount> closes = {};
  std::array<Cell, protocol::kOpaqueReasonCount> tunnels = {};
};

// Everything of a route but what is kept per command.
template <typename Cell>
struct RouteCounts {
  std::array<ArmCounts<Cell>, kArmCount> arms = {};
  std::array<SideCounts<Cell>, kSideCount> sides = {};
  SessionCounts<Cell> sessions = {};
};

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_COUNTS_H_
