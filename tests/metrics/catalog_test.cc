#include "metrics/catalog.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "metrics/metrics_page.h"
#include "tests/support/temp_dir.h"

namespace mcscope::metrics {
namespace {

constexpr char kRegenerate[] =
    "docs/METRICS.md is not what the catalog says; run\n"
    "  cmake --build --preset dev --target mcscope_metrics_doc\n"
    "  build/dev/bin/mcscope_metrics_doc > docs/METRICS.md";

TEST(Catalog, EachRowStandsInItsMetricsPlace) {
  for (size_t i = 0; i < kMetricCount; ++i) {
    EXPECT_EQ(static_cast<size_t>(Catalog()[i].metric), i) << Catalog()[i].name;
    EXPECT_EQ(&Info(static_cast<Metric>(i)), &Catalog()[i]);
  }
}

TEST(Catalog, NamesAreUniqueAndFollowTheConventions) {
  std::set<absl::string_view> names;
  for (const MetricInfo& info : Catalog()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(absl::StartsWith(info.name, "mcscope_") || absl::StartsWith(info.name, "process_"))
        << info.name;
    EXPECT_EQ(absl::EndsWith(info.name, "_total"), info.type == MetricType::kCounter) << info.name;
  }
}

TEST(Catalog, HelpIsOneLineThatNeedsNoEscaping) {
  for (const MetricInfo& info : Catalog()) {
    EXPECT_FALSE(info.help.empty()) << info.name;
    EXPECT_EQ(info.help.find_first_of("\\\n\r"), absl::string_view::npos) << info.name;
    EXPECT_EQ(info.help.back(), '.') << info.name;
    EXPECT_FALSE(info.exists.empty()) << info.name;
  }
}

TEST(Catalog, LabelsAreUniqueWithinAMetricAndNeverReserved) {
  for (const MetricInfo& info : Catalog()) {
    std::set<absl::string_view> labels;
    for (const absl::string_view label : info.labels()) {
      EXPECT_TRUE(labels.insert(label).second) << info.name;
      EXPECT_TRUE(label != "le" && label != "quantile" && label != "job" && label != "instance")
          << info.name;
    }
  }
}

TEST(MetricsPage, IsTheCommittedOne) {
  const std::string committed = test::ReadFile(MCSCOPE_SOURCE_DIR "/docs/METRICS.md");
  EXPECT_TRUE(committed == MetricsPage()) << kRegenerate;
}

TEST(MetricsPage, TellsOfEveryMetric) {
  const std::string page = MetricsPage();
  for (const MetricInfo& info : Catalog()) EXPECT_TRUE(absl::StrContains(page, info.name));
}

}  // namespace
}  // namespace mcscope::metrics
