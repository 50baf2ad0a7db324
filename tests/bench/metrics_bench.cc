// What recording an exchange costs its worker, and what a scrape costs the admin thread.
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "metrics/collector.h"
#include "metrics/recorder.h"
#include "metrics/window.h"
#include "prometheus/text_serializer.h"

namespace mcscope::metrics {
namespace {

using protocol::Command;
using protocol::Result;

constexpr int64_t kSecond = 1'000'000'000;
constexpr Command kCommands[] = {Command::kGet,    Command::kGets,   Command::kSet,   Command::kAdd,
                                 Command::kDelete, Command::kIncr,   Command::kTouch, Command::kMg,
                                 Command::kMs,     Command::kVersion};

// Samples as a busy proxy makes them: every leg of its own spread.
std::vector<ExchangeSample> Samples(size_t count, bool all_commands) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> fast(8, 0.8), slow(11, 0.8);
  std::vector<ExchangeSample> samples(count);
  for (ExchangeSample& sample : samples) {
    const Command command =
        all_commands ? kCommands[random() % std::size(kCommands)] : Command::kGet;
    sample = {command, Result::kError, random() % 2 == 0 || !all_commands ? Arm::kA : Arm::kB,
              1,       true,           {}};
    Timeline& t = sample.timeline;
    t.last_read = static_cast<int64_t>(fast(random));
    t.handed = t.last_read + static_cast<int64_t>(fast(random));
    t.reply_first = t.handed + static_cast<int64_t>(slow(random));
    t.reply_last = t.reply_first + static_cast<int64_t>(fast(random));
    t.written = t.reply_last + static_cast<int64_t>(fast(random));
  }
  return samples;
}

void BM_ExchangeFinished(benchmark::State& state) {
  const BucketBounds bounds = BucketBounds::Default();
  Recorder recorder(&bounds);
  const auto samples = Samples(4096, state.range(0) != 0);
  size_t i = 0;
  for (auto _ : state) recorder.ExchangeFinished(samples[i++ % samples.size()]);
}
BENCHMARK(BM_ExchangeFinished)->ArgName("ten_commands_two_arms")->Arg(0)->Arg(1);

// Two workers, ten commands on both arms, a full minute of 50,000 requests per second.
class Scene {
 public:
  Scene() {
    const auto samples = Samples(50'000, true);
    for (int second = 1; second <= 61; ++second) {
      for (size_t i = 0; i < samples.size(); ++i) {
        (i % 2 == 0 ? first_ : second_).ExchangeFinished(samples[i]);
      }
      windows_.Tick(second * kSecond);
    }
    CollectorSources sources;
    sources.bounds = &bounds_;
    sources.routes.push_back({"main", {&first_, &second_}, &windows_, [] { return 0u; }});
    sources.settings = [] { return std::vector<SettingSample>{{"coalesce", 1, 0}}; };
    sources.now_ns = [] { return 61 * kSecond; };
    collector_ = std::make_unique<Collector>(std::move(sources));
  }
  const Collector& collector() const { return *collector_; }
  Windows& windows() { return windows_; }
  Recorder& recorder() { return first_; }

 private:
  const BucketBounds bounds_ = BucketBounds::Default();
  Recorder first_{&bounds_}, second_{&bounds_};
  Windows windows_{{&first_, &second_}};
  std::unique_ptr<Collector> collector_;
};

void BM_Collect(benchmark::State& state) {
  const Scene scene;
  for (auto _ : state) benchmark::DoNotOptimize(scene.collector().Collect());
}
BENCHMARK(BM_Collect)->Unit(benchmark::kMillisecond);

void BM_Scrape(benchmark::State& state) {
  const Scene scene;
  size_t bytes = 0;
  for (auto _ : state) {
    bytes = prometheus::TextSerializer().Serialize(scene.collector().Collect()).size();
  }
  state.counters["page_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_Scrape)->Unit(benchmark::kMillisecond);

void BM_LegsOfEachCommand(benchmark::State& state) {
  Scene scene;
  for (auto _ : state) benchmark::DoNotOptimize(scene.windows().OfEachCommand(61 * kSecond));
  state.counters["slice_bytes"] = static_cast<double>(scene.windows().slice_bytes());
}
BENCHMARK(BM_LegsOfEachCommand)->Unit(benchmark::kMillisecond);

void BM_Tick(benchmark::State& state) {
  Scene scene;
  const auto samples = Samples(1000, true);
  int64_t now = 61 * kSecond;
  for (auto _ : state) {
    state.PauseTiming();
    for (const ExchangeSample& sample : samples) scene.recorder().ExchangeFinished(sample);
    now += kSecond;
    state.ResumeTiming();
    scene.windows().Tick(now);
  }
}
BENCHMARK(BM_Tick)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mcscope::metrics
