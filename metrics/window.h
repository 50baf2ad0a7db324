// Percentiles of the last 10 and 60 seconds of one route, from its workers' fine histograms.
//
// Once a second Tick() takes what each histogram gained since the tick before (a slice) and keeps
// it for the longest window; a window is the sum of the slices taken within it, whatever their
// number. Quantiles are of all samples in the window, never means of quantiles. It reads no clock:
// the caller passes the time.
//
// Owner and only user: the admin thread. Bounded: at most 121 slices, 60 when ticks come as they
// should; a slice takes about 2 bytes per histogram bucket that gained something. Measured: 100 KiB
// for ten commands on both arms at 50,000 requests per second.
#ifndef MCSCOPE_METRICS_WINDOW_H_
#define MCSCOPE_METRICS_WINDOW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "metrics/command_slot.h"
#include "metrics/histogram.h"
#include "metrics/labels.h"
#include "metrics/leg.h"
#include "metrics/recorder.h"
#include "protocol/command.h"

namespace mcscope::metrics {

inline constexpr std::array<int, 2> kWindowSeconds = {10, 60};  // ascending
inline constexpr std::array<double, 6> kQuantiles = {0.5, 0.9, 0.99, 0.999, 0.9999, 1};

// The quantiles of one series in one window; there is none of a window without samples.
struct WindowQuantiles {
  int window_seconds = 0;
  std::optional<protocol::Command> command;  // without: of all commands together
  Arm arm = Arm::kA;
  std::optional<Leg> leg;                                // without: of the total
  uint64_t count = 0;                                    // samples, above 0
  std::array<int64_t, kQuantiles.size()> value_ns = {};  // as in kQuantiles
};

// "client_read" ... "client_write", or "total".
absl::string_view SeriesName(const std::optional<Leg>& leg);

class Windows {
 public:
  // `recorders`: of all workers on this route; they outlive this. What they hold already belongs to
  // the first slice.
  explicit Windows(std::vector<const Recorder*> recorders);

  // Takes a slice at `now_ns`, which never goes back. A call less than half a second after the last
  // slice takes none; after a gap the slice holds all that came in the gap, and counts as of now.
  void Tick(int64_t now_ns);

  // Of all commands together: by arm, leg and window.
  std::vector<WindowQuantiles> OfAllCommands(int64_t now_ns) const;
  // Of each command: by command, arm, leg and window.
  std::vector<WindowQuantiles> OfEachCommand(int64_t now_ns) const;

  // Memory that the slices take at the moment.
  size_t slice_bytes() const;

 private:
  // A series is a fine histogram: SlotIndex * kSeriesCount + leg (or kTotalSeries). Behind the
  // commands' come those of all commands together, of each arm.
  static constexpr size_t kSlots = protocol::kCommandCount * kArmCount;
  static constexpr size_t kAllCommands = kSlots * kSeriesCount;

  struct Run {
    uint16_t series;
    uint32_t begin;  // of its packed counts in Slice::bytes; they end where the next run begins
  };
  struct Slice {
    int64_t taken_ns;
    std::vector<Run> runs;  // by series; ends with a sentinel
    std::vector<uint8_t> bytes;
  };
  // What a slot had when the last slice was taken.
  struct Seen {
    uint64_t answered = 0;
    std::array<std::array<uint32_t, kFineBuckets>, kSeriesCount> counts = {};
  };
  using ArmGains = std::array<std::array<uint32_t, kFineBuckets>, kSeriesCount>;

  uint64_t Answered(protocol::Command command, Arm arm) const;
  void TakeSlot(protocol::Command command, Arm arm, ArmGains* all_commands, Slice* slice);
  static void Append(size_t series, const std::array<uint32_t, kFineBuckets>& gains, Slice* slice);
  static void AddRun(const Slice& slice, size_t series, Histogram* histogram);
  std::vector<size_t> SeriesBetween(size_t begin, size_t end) const;
  void AddQuantiles(size_t series, int64_t now_ns, std::vector<WindowQuantiles>* result) const;

  const std::vector<const Recorder*> recorders_;
  std::array<std::unique_ptr<Seen>, kSlots> seen_;  // null until the command is seen
  std::deque<Slice> slices_;                        // oldest first
};

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_WINDOW_H_
