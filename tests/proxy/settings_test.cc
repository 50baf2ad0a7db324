#include "proxy/settings.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mcscope {
namespace {

using metrics::Arm;
using ::testing::Each;
using ::testing::ElementsAre;

template <typename T>
std::string ErrorOf(const absl::StatusOr<T>& result) {
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(result.status().message());
}

Settings Split(absl::string_view overrides, int percent) {
  Settings settings;
  settings.ab = *Overrides::Parse(overrides);
  settings.ab_percent = percent;
  return settings;
}

TEST(ParseTest, OnAndOff) {
  EXPECT_EQ(*ParseOnOff("on"), true);
  EXPECT_EQ(*ParseOnOff("off"), false);
  EXPECT_EQ(OnOff(true), "on");
  EXPECT_EQ(OnOff(false), "off");
  for (const char* wrong : {"", "On", "true", "1", "on ", "offf"}) {
    EXPECT_EQ(ErrorOf(ParseOnOff(wrong)), "'" + std::string(wrong) + "' is neither on nor off");
  }
}

TEST(ParseTest, Percent) {
  EXPECT_EQ(*ParsePercent("0"), 0);
  EXPECT_EQ(*ParsePercent("50"), 50);
  EXPECT_EQ(*ParsePercent("100"), 100);
  for (const char* wrong : {"", "-1", "101", "50.5", "half", "50%", "99999999999"}) {
    EXPECT_EQ(ErrorOf(ParsePercent(wrong)),
              "'" + std::string(wrong) + "' is not a whole number from 0 to 100");
  }
}

TEST(ParseTest, LogLevelsByTheirNames) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    EXPECT_EQ(*ParseLogLevel(Name(level)), level);
  }
  EXPECT_EQ(ErrorOf(ParseLogLevel("loud")), "'loud' is not one of debug, info, warning, error");
  EXPECT_EQ(ErrorOf(ParseLogLevel("")), "'' is not one of debug, info, warning, error");
}

TEST(OverridesTest, EmptyTextOverridesNothing) {
  const absl::StatusOr<Overrides> overrides = Overrides::Parse("");
  ASSERT_TRUE(overrides.ok());
  EXPECT_FALSE(overrides->any());
  EXPECT_EQ(overrides->ToString(), "");
}

TEST(OverridesTest, ArePrintedAsTheyAreRead) {
  for (const char* text : {"nodelay=off", "coalesce=on", "quickack=off",
                           "nodelay=on,coalesce=off,quickack=on", "coalesce=off,quickack=off"}) {
    const absl::StatusOr<Overrides> overrides = Overrides::Parse(text);
    ASSERT_TRUE(overrides.ok()) << text;
    EXPECT_TRUE(overrides->any());
    EXPECT_EQ(overrides->ToString(), text);
  }
}

TEST(OverridesTest, TheOrderOfTheirTextIsFree) {
  EXPECT_EQ(Overrides::Parse("quickack=off,nodelay=on")->ToString(), "nodelay=on,quickack=off");
}

TEST(OverridesTest, WhatIsWrongIsNamed) {
  const std::map<std::string, std::string> wrong = {
      {"speed=on", "'speed=on' is not nodelay=, coalesce= or quickack= with on or off"},
      {"coalesce=off,", "'' is not nodelay=, coalesce= or quickack= with on or off"},
      {"coalesce", "coalesce: '' is neither on nor off"},
      {"coalesce=maybe", "coalesce: 'maybe' is neither on nor off"},
      {"coalesce=off=on", "coalesce: 'off=on' is neither on nor off"},
      {"coalesce=off,coalesce=off", "'coalesce' is given twice"},
      {"coalesce=off, quickack=off",
       "' quickack=off' is not nodelay=, coalesce= or quickack= with on or off"},
  };
  for (const auto& [text, message] : wrong) {
    EXPECT_EQ(ErrorOf(Overrides::Parse(text)), message) << text;
  }
}

TEST(SettingsTest, WithoutASplitEverySessionIsArmA) {
  const Settings settings = Split("", 100);
  for (int lot = 0; lot < 100; ++lot) EXPECT_EQ(settings.ArmOf(lot), Arm::kA);
}

TEST(SettingsTest, TheShareOfArmBIsExactOverAHundredLots) {
  for (const int percent : {0, 1, 10, 50, 99, 100}) {
    const Settings settings = Split("coalesce=off", percent);
    int b = 0;
    for (int lot = 0; lot < 100; ++lot) b += settings.ArmOf(lot) == Arm::kB ? 1 : 0;
    EXPECT_EQ(b, percent);
  }
}

TEST(SettingsTest, ArmBDiffersInWhatIsOverriddenOnly) {
  Settings settings = Split("coalesce=off,quickack=on", 50);
  settings.treatments = {/*nodelay=*/false, /*coalesce=*/true, /*quickack=*/false};
  const Treatments a = settings.TreatmentsOf(Arm::kA), b = settings.TreatmentsOf(Arm::kB);
  EXPECT_FALSE(a.nodelay);
  EXPECT_TRUE(a.coalesce);
  EXPECT_FALSE(a.quickack);
  EXPECT_FALSE(b.nodelay);  // as in arm a
  EXPECT_FALSE(b.coalesce);
  EXPECT_TRUE(b.quickack);
}

TEST(SettingsTest, AreNumbersUnderTheirMetricNames) {
  Settings settings = Split("quickack=off", 20);
  settings.treatments.nodelay = false;
  settings.log_level = LogLevel::kError;
  const std::vector<std::pair<std::string, double>> expected = {
      {"nodelay", 0},     {"coalesce", 1},    {"quickack", 1},
      {"ab", 1},          {"ab_percent", 20}, {"ab_nodelay", 0},
      {"ab_coalesce", 1}, {"ab_quickack", 0}, {"log_level", 3}};
  const SettingNumbers numbers = Numbers(settings);
  ASSERT_EQ(numbers.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(numbers[i].first, expected[i].first);
    EXPECT_EQ(numbers[i].second, expected[i].second) << expected[i].first;
  }
}

class SettingsStoreTest : public ::testing::Test {
 protected:
  // Those that have changed, and how often.
  std::map<std::string, uint64_t> Changed() const {
    std::map<std::string, uint64_t> changed;
    const SettingNumbers numbers = Numbers(store_.Get());
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (store_.Changes()[i] > 0) changed[std::string(numbers[i].first)] = store_.Changes()[i];
    }
    return changed;
  }

  SettingsStore store_{Settings()};
};

TEST_F(SettingsStoreTest, GivesWhatWasSet) {
  Settings settings = Split("nodelay=off", 30);
  settings.treatments.coalesce = false;
  store_.Set(settings);
  EXPECT_FALSE(store_.Get().treatments.coalesce);
  EXPECT_EQ(store_.Get().ab.ToString(), "nodelay=off");
  EXPECT_EQ(store_.Get().ab_percent, 30);
}

TEST_F(SettingsStoreTest, StartingIsNoChange) {
  EXPECT_THAT(store_.Changes(), Each(0u));
  store_.Set(store_.Get());
  EXPECT_THAT(store_.Changes(), Each(0u));
}

TEST_F(SettingsStoreTest, CountsWhatReallyChanged) {
  Settings settings;
  settings.treatments.quickack = false;  // for both arms
  store_.Set(settings);
  store_.Set(settings);
  settings.ab_percent = 10;
  store_.Set(settings);
  settings.treatments.quickack = true;
  settings.log_level = LogLevel::kDebug;
  store_.Set(settings);
  const std::map<std::string, uint64_t> expected = {
      {"quickack", 2}, {"ab_quickack", 2}, {"ab_percent", 1}, {"log_level", 1}};
  EXPECT_EQ(Changed(), expected);
}

TEST_F(SettingsStoreTest, TellsItsObserversInTheirOrder) {
  std::vector<std::string> told;
  store_.Observe([&](const Settings& settings) {
    told.push_back("first " + std::to_string(settings.ab_percent));
  });
  store_.Observe([&](const Settings& settings) {
    told.push_back("second " + std::to_string(settings.ab_percent));
  });
  Settings settings;
  settings.ab_percent = 7;
  store_.Set(settings);
  EXPECT_THAT(told, ElementsAre("first 7", "second 7"));
}

TEST_F(SettingsStoreTest, AnObserverMayAskTheStore) {
  int percent = 0;
  store_.Observe([&](const Settings&) { percent = store_.Get().ab_percent; });
  Settings settings;
  settings.ab_percent = 7;
  store_.Set(settings);
  EXPECT_EQ(percent, 7);
}

TEST_F(SettingsStoreTest, IsReadWholeByOtherThreads) {
  std::thread writer([this] {
    for (int i = 0; i < 2000; ++i) {
      Settings settings;
      settings.ab_percent = i % 2 == 0 ? 0 : 100;
      settings.treatments.nodelay = i % 2 == 0;
      store_.Set(settings);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const Settings settings = store_.Get();
    const bool initial = settings.ab_percent == 50;
    ASSERT_EQ(settings.treatments.nodelay, initial || settings.ab_percent == 0);
  }
  writer.join();
}

}  // namespace
}  // namespace mcscope
