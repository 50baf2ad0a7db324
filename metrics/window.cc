#include "metrics/window.h"

#include <algorithm>
#include <utility>

#include "metrics/recorder_reader.h"

namespace mcscope::metrics {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
// Bounds the number of slices when ticks come faster than they should.
constexpr int64_t kMinSpacing = kSecond / 2;

// Base-128 numbers, low digits first. Neighbouring buckets and small counts are what a slice is
// made of, so that most numbers take one byte.
void PutVarint(uint32_t value, std::vector<uint8_t>* bytes) {
  while (value >= 0x80) {
    bytes->push_back(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  bytes->push_back(static_cast<uint8_t>(value));
}

uint32_t GetVarint(const uint8_t** next) {
  uint32_t value = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t digit = *(*next)++;
    value |= static_cast<uint32_t>(digit & 0x7f) << shift;
    if (digit < 0x80) return value;
  }
}

}  // namespace

absl::string_view SeriesName(const std::optional<Leg>& leg) {
  return leg.has_value() ? Name(*leg) : absl::string_view("total");
}

Windows::Windows(std::vector<const Recorder*> recorders) : recorders_(std::move(recorders)) {}

void Windows::Tick(int64_t now_ns) {
  if (!slices_.empty() && now_ns < slices_.back().taken_ns + kMinSpacing) return;
  Slice slice{now_ns, {}, {}};
  auto all_commands = std::make_unique<std::array<ArmGains, kArmCount>>();
  for (size_t i = 0; i < kSlots; ++i) {
    const auto command = static_cast<protocol::Command>(i / kArmCount);
    const auto arm = static_cast<Arm>(i % kArmCount);
    TakeSlot(command, arm, &(*all_commands)[i % kArmCount], &slice);
  }
  if (!slice.runs.empty()) {
    for (size_t i = 0; i < kArmCount * kSeriesCount; ++i) {
      Append(kAllCommands + i, (*all_commands)[i / kSeriesCount][i % kSeriesCount], &slice);
    }
  }
  slice.runs.push_back({UINT16_MAX, static_cast<uint32_t>(slice.bytes.size())});
  slice.runs.shrink_to_fit();
  slice.bytes.shrink_to_fit();
  slices_.push_back(std::move(slice));
  while (slices_.front().taken_ns <= now_ns - kWindowSeconds.back() * kSecond) slices_.pop_front();
}

uint64_t Windows::Answered(protocol::Command command, Arm arm) const {
  uint64_t sum = 0;
  for (const Recorder* recorder : recorders_) {
    const CommandSlot* slot = RecorderReader(recorder).Slot(command, arm);
    if (slot != nullptr) sum += slot->answered.load(std::memory_order_acquire);
  }
  return sum;
}

void Windows::TakeSlot(protocol::Command command, Arm arm, ArmGains* all_commands, Slice* slice) {
  // Read before the histograms: what is recorded meanwhile is in this slice or in the next one,
  // never lost.
  const uint64_t answered = Answered(command, arm);
  std::unique_ptr<Seen>& seen = seen_[SlotIndex(command, arm)];
  if (answered == (seen == nullptr ? 0 : seen->answered)) return;
  if (seen == nullptr) seen = std::make_unique<Seen>();
  seen->answered = answered;
  for (size_t series = 0; series < kSeriesCount; ++series) {
    std::array<uint32_t, kFineBuckets> gains = {};
    for (const Recorder* recorder : recorders_) {
      const CommandSlot* slot = RecorderReader(recorder).Slot(command, arm);
      if (slot == nullptr) continue;
      for (size_t i = 0; i < kFineBuckets; ++i) gains[i] += slot->fine[series].count_at(i);
    }
    for (size_t i = 0; i < kFineBuckets; ++i) {
      const uint32_t sum = gains[i];
      gains[i] -= seen->counts[series][i];  // modulo 2^32, as the counts themselves
      seen->counts[series][i] = sum;
      (*all_commands)[series][i] += gains[i];
    }
    Append(SlotIndex(command, arm) * kSeriesCount + series, gains, slice);
  }
}

void Windows::Append(size_t series, const std::array<uint32_t, kFineBuckets>& gains, Slice* slice) {
  const auto begin = static_cast<uint32_t>(slice->bytes.size());
  size_t previous = 0;
  for (size_t i = 0; i < kFineBuckets; ++i) {
    if (gains[i] == 0) continue;
    PutVarint(static_cast<uint32_t>(i - previous), &slice->bytes);
    PutVarint(gains[i], &slice->bytes);
    previous = i;
  }
  if (slice->bytes.size() > begin) slice->runs.push_back({static_cast<uint16_t>(series), begin});
}

void Windows::AddRun(const Slice& slice, size_t series, Histogram* histogram) {
  const auto run = std::lower_bound(slice.runs.begin(), slice.runs.end(), series,
                                    [](const Run& r, size_t s) { return r.series < s; });
  if (run->series != series) return;
  const uint8_t* next = slice.bytes.data() + run->begin;
  const uint8_t* const end = slice.bytes.data() + (run + 1)->begin;
  size_t index = 0;
  while (next < end) {
    index += GetVarint(&next);
    histogram->Add(index, GetVarint(&next));
  }
}

std::vector<size_t> Windows::SeriesBetween(size_t begin, size_t end) const {
  std::vector<size_t> series;
  for (const Slice& slice : slices_) {
    for (const Run& run : slice.runs) {
      if (run.series >= begin && run.series < end) series.push_back(run.series);
    }
  }
  std::sort(series.begin(), series.end());
  series.erase(std::unique(series.begin(), series.end()), series.end());
  return series;
}

void Windows::AddQuantiles(size_t series, int64_t now_ns,
                           std::vector<WindowQuantiles>* result) const {
  Histogram histogram;
  auto slice = slices_.rbegin();
  // Each window holds the shorter ones: one pass from the newest slice back serves them all.
  for (const int seconds : kWindowSeconds) {
    for (; slice != slices_.rend() && slice->taken_ns > now_ns - seconds * kSecond; ++slice) {
      AddRun(*slice, series, &histogram);
    }
    if (histogram.count() == 0) continue;
    WindowQuantiles quantiles;
    quantiles.window_seconds = seconds;
    const size_t slot = series / kSeriesCount;
    if (series < kAllCommands) quantiles.command = static_cast<protocol::Command>(slot / kArmCount);
    quantiles.arm = static_cast<Arm>(slot % kArmCount);
    const size_t leg = series % kSeriesCount;
    if (leg != kTotalSeries) quantiles.leg = static_cast<Leg>(leg);
    quantiles.count = histogram.count();
    for (size_t i = 0; i < kQuantiles.size(); ++i) {
      quantiles.value_ns[i] = histogram.Quantile(kQuantiles[i]);
    }
    result->push_back(quantiles);
  }
}

std::vector<WindowQuantiles> Windows::OfAllCommands(int64_t now_ns) const {
  std::vector<WindowQuantiles> result;
  for (const size_t series : SeriesBetween(kAllCommands, UINT16_MAX)) {
    AddQuantiles(series, now_ns, &result);
  }
  return result;
}

std::vector<WindowQuantiles> Windows::OfEachCommand(int64_t now_ns) const {
  std::vector<WindowQuantiles> result;
  for (const size_t series : SeriesBetween(0, kAllCommands)) {
    AddQuantiles(series, now_ns, &result);
  }
  return result;
}

size_t Windows::slice_bytes() const {
  size_t bytes = 0;
  for (const Slice& slice : slices_) {
    bytes += sizeof(slice) + slice.runs.size() * sizeof(Run) + slice.bytes.size();
  }
  return bytes;
}

}  // namespace mcscope::metrics
