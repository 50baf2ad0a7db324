// What a recorder keeps of one command on one arm. Internal to the recorder and its readers.
#ifndef MCSCOPE_METRICS_COMMAND_SLOT_H_
#define MCSCOPE_METRICS_COMMAND_SLOT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "metrics/counter.h"
#include "metrics/counts.h"
#include "metrics/histogram.h"
#include "metrics/labels.h"
#include "metrics/leg.h"
#include "protocol/command.h"

namespace mcscope::metrics {

// The fine histograms: one per leg, and the total behind them.
inline constexpr size_t kTotalSeries = kLegCount;
inline constexpr size_t kSeriesCount = kLegCount + 1;

struct CommandSlot {
  CommandCounts<Counter> counts;
  std::array<LiveHistogram, kSeriesCount> fine;  // of answered exchanges
  // Exchanges in `fine`, stored with release after them: a reader that finds it unchanged may skip
  // the slot.
  std::atomic<uint64_t> answered{0};
};

// Where the slot of (command, arm) is among a recorder's.
inline size_t SlotIndex(protocol::Command command, Arm arm) {
  return static_cast<size_t>(command) * kArmCount + static_cast<size_t>(arm);
}

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_COMMAND_SLOT_H_
