#include "metrics/collector.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "metrics/catalog.h"
#include "prometheus/text_serializer.h"
#include "tests/support/exposition.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace mcscope::metrics {
namespace {

using protocol::Command;
using protocol::Result;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int64_t kSecond = 1'000'000'000;

class CollectorTest : public ::testing::Test {
 protected:
  CollectorTest() {
    CollectorSources sources;
    sources.bounds = &bounds_;
    sources.routes.push_back({"main", {&first_, &second_}, &windows_, [] { return 3u; }});
    sources.routes.push_back({"side \"quoted\"\\", {&third_}, &other_windows_, [] { return 0u; }});
    sources.settings = [] {
      return std::vector<SettingSample>{{"coalesce", 1, 2}, {"hold_limit", 65536, 0}};
    };
    sources.now_ns = [this] { return now_; };
    sources.build = {"0.1.0", "gcc 12", "2.1.12-stable", "tsc"};
    collector_ = std::make_unique<Collector>(std::move(sources));
  }

  test::Exposition Scrape() const { return test::Exposition(Text()); }
  std::string Text() const { return prometheus::TextSerializer().Serialize(collector_->Collect()); }
  // Everything that there is to record, on both arms of the first route.
  void RecordEverything();

  const BucketBounds bounds_ = BucketBounds::Default();
  Recorder first_{&bounds_}, second_{&bounds_}, third_{&bounds_};
  Windows windows_{{&first_, &second_}};
  Windows other_windows_{{&third_}};
  int64_t now_ = kSecond;
  std::unique_ptr<Collector> collector_;
};

// Legs of 1, 2, 4, 8 and 16 times `unit` ns.
ExchangeSample Sample(Command command, Result result, Arm arm, int64_t unit) {
  return {command,
          result,
          arm,
          2,
          result != Result::kNone,
          {0, unit, 3 * unit, 7 * unit, 15 * unit, 31 * unit}};
}

void CollectorTest::RecordEverything() {
  for (const Arm arm : {Arm::kA, Arm::kB}) {
    for (size_t i = 0; i < protocol::kCommandCount; ++i) {
      const auto command = static_cast<Command>(i);
      for (size_t r = 0; r < protocol::kResultCount; ++r) {
        const auto result = static_cast<Result>(r);
        if ((protocol::Info(command).results >> r & 1) == 0) continue;
        if (result == Result::kAborted) {
          first_.ExchangeAborted(command, arm);
        } else {
          first_.ExchangeFinished(Sample(command, result, arm, 10'000));
        }
      }
    }
    for (const Leg leg : kReadLegs) first_.Stalled(leg, arm);
  }
  for (const Side side : {Side::kClient, Side::kUpstream}) {
    first_.QuickAckSent(side);
    first_.NoDelayFailed(side);
    first_.Received(side, 5'000'000'000'000);
    first_.Written(side, 1);
  }
  for (size_t i = 0; i < kCloseCauseCount; ++i) {
    first_.SessionOpened();
    first_.SessionClosed(static_cast<CloseCause>(i));
  }
  for (size_t i = 0; i < protocol::kOpaqueReasonCount; ++i) {
    first_.TunnelOpened(static_cast<protocol::OpaqueReason>(i));
  }
  windows_.Tick(now_);
}

std::set<std::string> Values(const std::vector<test::Sample>& samples, const std::string& label) {
  std::set<std::string> values;
  for (const test::Sample& sample : samples) values.insert(sample.labels.at(label));
  return values;
}

// What `promtool check metrics` says of `page`, if anything.
std::string Promtool(const std::string& page) {
  const test::TempDir dir;
  test::WriteFile(dir.File("page"), page);
  test::Command command;
  command.argv = {"sh", "-c", absl::StrCat("promtool check metrics < ", dir.File("page"))};
  const test::Finished finished = test::RunToEnd(command, absl::Seconds(60));
  const int status = finished.status.value_or(-1);
  return absl::StrCat(finished.stdout_text, finished.stderr_text,
                      status == 0 ? "" : absl::StrCat("status ", status));
}

TEST_F(CollectorTest, PromtoolHasNothingToSay) {
  EXPECT_EQ(Promtool(Text()), "") << "of a fresh page";
  RecordEverything();
  EXPECT_EQ(Promtool(Text()), "") << "of a page with everything on it";
}

TEST_F(CollectorTest, EveryMetricOfTheCatalogHasSamplesWithItsLabelsAndNoOthers) {
  RecordEverything();
  const std::vector<prometheus::MetricFamily> families = collector_->Collect();
  ASSERT_EQ(families.size(), kMetricCount);
  for (size_t i = 0; i < kMetricCount; ++i) {
    const MetricInfo& info = Catalog()[i];
    EXPECT_EQ(families[i].name, info.name);
    EXPECT_EQ(families[i].help, info.help);
    EXPECT_FALSE(families[i].metric.empty()) << info.name;
    for (const prometheus::ClientMetric& sample : families[i].metric) {
      std::vector<absl::string_view> names;
      for (const auto& label : sample.label) names.push_back(label.name);
      EXPECT_EQ(absl::MakeConstSpan(names), info.labels()) << info.name;
    }
  }
}

TEST_F(CollectorTest, NoSeriesAppearsTwice) {
  RecordEverything();
  std::set<std::pair<std::string, test::Labels>> seen;
  const test::Exposition page = Scrape();
  for (const test::Sample& sample : page.samples()) {
    EXPECT_TRUE(seen.insert({sample.name, sample.labels}).second) << sample.name;
  }
}

TEST_F(CollectorTest, SeriesWithoutACommandExistFromTheStart) {
  const test::Exposition page = Scrape();
  for (const char* route : {"main", "side \"quoted\"\\"}) {
    const test::Labels labels = {{"route", route}};
    EXPECT_EQ(page.Select("mcscope_stalls_total", labels).size(), kReadLegs.size() * kArmCount);
    EXPECT_EQ(page.Select("mcscope_split_requests_total", labels).size(), kArmCount);
    EXPECT_EQ(page.Select("mcscope_request_reads_count", labels).size(), kArmCount);
    EXPECT_EQ(page.Select("mcscope_overhead_seconds_count", labels).size(), kArmCount);
    EXPECT_EQ(page.Select("mcscope_quickacks_total", labels).size(), kSideCount);
    EXPECT_EQ(page.Select("mcscope_nodelay_failures_total", labels).size(), kSideCount);
    EXPECT_EQ(page.Select("mcscope_reads_total", labels).size(), kSideCount);
    EXPECT_EQ(page.Select("mcscope_writes_total", labels).size(), kSideCount);
    EXPECT_EQ(page.Select("mcscope_bytes_total", labels).size(), 2 * kSideCount);
    EXPECT_EQ(page.Select("mcscope_session_closes_total", labels).size(), kCloseCauseCount);
    EXPECT_EQ(page.Select("mcscope_tunnels_total", labels).size(), protocol::kOpaqueReasonCount);
    EXPECT_EQ(page.Select("mcscope_sessions", labels).size(), 1u);
    EXPECT_EQ(page.Select("mcscope_sessions_total", labels).size(), 1u);
    EXPECT_EQ(page.Select("mcscope_accept_pauses_total", labels).size(), 1u);
  }
  EXPECT_THAT(page.Select("mcscope_requests_total"), IsEmpty());
  EXPECT_THAT(page.Select("mcscope_leg_quantile_seconds"), IsEmpty());
}

TEST_F(CollectorTest, ACommandOnceSeenHasAllItsResultsFromZero) {
  first_.ExchangeFinished(Sample(Command::kGets, Result::kHit, Arm::kA, 1000));
  const test::Exposition page = Scrape();
  const test::Labels gets = {{"route", "main"}, {"command", "gets"}, {"arm", "a"}};
  EXPECT_THAT(Values(page.Select("mcscope_requests_total", gets), "result"),
              UnorderedElementsAre("hit", "miss", "error", "aborted"));
  EXPECT_THAT(Values(page.Select("mcscope_request_duration_seconds_count", gets), "result"),
              UnorderedElementsAre("hit", "miss", "error"));
  EXPECT_EQ(page.Sum("mcscope_requests_total", {{"result", "miss"}}), 0);
  EXPECT_FALSE(page.Has("mcscope_requests_total", {{"arm", "b"}}));
  // A gets always has an answer.
  EXPECT_FALSE(page.Has("mcscope_unanswered_leg_duration_seconds_count"));
}

TEST_F(CollectorTest, UnansweredExchangesHaveTheirOwnHistogram) {
  first_.ExchangeFinished(Sample(Command::kSet, Result::kNone, Arm::kA, 1000));
  const test::Exposition page = Scrape();
  EXPECT_EQ(page.Sum("mcscope_requests_total", {{"result", "none"}}), 1);
  EXPECT_EQ(page.Sum("mcscope_request_duration_seconds_count"), 0);
  EXPECT_EQ(page.Sum("mcscope_leg_duration_seconds_count"), 0);
  EXPECT_THAT(Values(page.Select("mcscope_unanswered_leg_duration_seconds_count"), "leg"),
              UnorderedElementsAre("client_read", "request_queue"));
  EXPECT_EQ(page.Sum("mcscope_unanswered_leg_duration_seconds_count"), 2);
}

TEST_F(CollectorTest, WorkersAddUpAndLegsAddUpToTheTotal) {
  first_.ExchangeFinished(Sample(Command::kGet, Result::kHit, Arm::kA, 1000));
  second_.ExchangeFinished(Sample(Command::kGet, Result::kMiss, Arm::kA, 2000));
  third_.ExchangeFinished(Sample(Command::kGet, Result::kMiss, Arm::kA, 4000));
  const test::Exposition page = Scrape();
  const test::Labels main = {{"route", "main"}};
  EXPECT_EQ(page.Sum("mcscope_requests_total", main), 2);
  EXPECT_EQ(
      page.Sum("mcscope_leg_duration_seconds_count", {{"route", "main"}, {"leg", "client_read"}}),
      2);
  EXPECT_DOUBLE_EQ(page.Sum("mcscope_request_duration_seconds_sum", main), 93e-6);
  EXPECT_DOUBLE_EQ(page.Sum("mcscope_leg_duration_seconds_sum", main), 93e-6);
  EXPECT_DOUBLE_EQ(page.Sum("mcscope_overhead_seconds_sum", main), 54e-6);
}

TEST_F(CollectorTest, BucketsCountUpToAndIncludingTheirEdge) {
  ExchangeSample sample = Sample(Command::kGet, Result::kHit, Arm::kA, 0);
  for (const int64_t ns : {40'000'000, 40'000'001, 1'100'000'000}) {
    sample.timeline = {0, ns, ns, ns, ns, ns};
    first_.ExchangeFinished(sample);
  }
  const test::Exposition page = Scrape();
  const test::Labels leg = {{"leg", "client_read"}, {"route", "main"}};
  EXPECT_EQ(page.Between("mcscope_leg_duration_seconds", 0.035, 0.04, leg), 1);
  EXPECT_EQ(page.Between("mcscope_leg_duration_seconds", 0.04, 0.045, leg), 1);
  EXPECT_EQ(page.Between("mcscope_leg_duration_seconds", 1, 1.1, leg), 1);
}

TEST_F(CollectorTest, HistogramsEndAtTheirCount) {
  RecordEverything();
  for (const prometheus::MetricFamily& family : collector_->Collect()) {
    if (family.type != prometheus::MetricType::Histogram) continue;
    for (const prometheus::ClientMetric& sample : family.metric) {
      EXPECT_EQ(sample.histogram.bucket.back().cumulative_count, sample.histogram.sample_count);
      EXPECT_TRUE(std::isinf(sample.histogram.bucket.back().upper_bound));
    }
  }
}

TEST_F(CollectorTest, QuantilesAreThoseOfTheWindows) {
  for (int64_t i = 1; i <= 100; ++i) {
    first_.ExchangeFinished(Sample(Command::kGet, Result::kHit, Arm::kA, i));
    second_.ExchangeFinished(Sample(Command::kSet, Result::kStored, Arm::kA, i));
  }
  windows_.Tick(now_);
  const test::Labels median = {{"leg", "client_read"}, {"window", "10s"}, {"q", "0.5"}};
  const test::Exposition page = Scrape();
  EXPECT_EQ(page.Sum("mcscope_leg_quantile_seconds", median), 50e-9);
  const auto all = page.Select("mcscope_leg_quantile_seconds");
  EXPECT_THAT(Values(all, "window"), UnorderedElementsAre("10s", "60s"));
  EXPECT_THAT(Values(all, "q"), UnorderedElementsAre("0.5", "0.9", "0.99", "0.999", "0.9999", "1"));
  EXPECT_THAT(Values(all, "leg"),
              UnorderedElementsAre("client_read", "request_queue", "upstream_wait", "upstream_read",
                                   "client_write", "total"));
  EXPECT_THAT(Values(all, "arm"), UnorderedElementsAre("a"));

  now_ += 20 * kSecond;
  EXPECT_THAT(Values(Scrape().Select("mcscope_leg_quantile_seconds"), "window"),
              UnorderedElementsAre("60s"));
}

TEST_F(CollectorTest, SessionsAreThoseOpenedAndNotClosed) {
  for (int i = 0; i < 3; ++i) first_.SessionOpened();
  second_.SessionOpened();
  second_.SessionClosed(CloseCause::kClientReset);
  const test::Exposition page = Scrape();
  EXPECT_EQ(page.Sum("mcscope_sessions", {{"route", "main"}}), 3);
  EXPECT_EQ(page.Sum("mcscope_sessions_total", {{"route", "main"}}), 4);
  EXPECT_EQ(page.Sum("mcscope_session_closes_total", {{"cause", "client_reset"}}), 1);
}

TEST_F(CollectorTest, ShowsWhatItsProvidersSay) {
  const test::Exposition page = Scrape();
  EXPECT_EQ(page.Sum("mcscope_accept_pauses_total", {{"route", "main"}}), 3);
  EXPECT_EQ(page.Sum("mcscope_setting", {{"name", "hold_limit"}}), 65536);
  EXPECT_EQ(page.Sum("mcscope_setting_changes_total", {{"name", "coalesce"}}), 2);
  EXPECT_EQ(page.Sum("mcscope_build_info", {{"version", "0.1.0"}, {"clocksource", "tsc"}}), 1);
}

TEST_F(CollectorTest, CountersAreWholeNumbersHoweverLarge) {
  first_.Received(Side::kClient, 5'000'000'000'000);
  first_.Received(Side::kClient, 1);
  EXPECT_THAT(Text(), ::testing::HasSubstr("direction=\"received\"} 5000000000001\n"));
}

}  // namespace
}  // namespace mcscope::metrics
