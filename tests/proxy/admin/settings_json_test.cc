#include "proxy/admin/settings_json.h"

#include <map>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace mcscope::admin {
namespace {

std::string Shown(const Settings& settings) {
  return SettingsToJson(settings, JsonLayout::kIndented);
}

Settings Unusual() {
  Settings settings;
  settings.treatments = {/*nodelay=*/false, /*coalesce=*/true, /*quickack=*/false};
  settings.ab = *Overrides::Parse("nodelay=on,quickack=on");
  settings.ab_percent = 10;
  settings.log_level = LogLevel::kWarning;
  return settings;
}

TEST(SettingsToJsonTest, ShowsEverySettingAsItsFlagIsWritten) {
  const nlohmann::json expected = {{"nodelay", "off"},  {"coalesce", "on"},
                                   {"quickack", "off"}, {"ab", "nodelay=on,quickack=on"},
                                   {"ab_percent", 10},  {"log_level", "warning"}};
  EXPECT_EQ(nlohmann::json::parse(Shown(Unusual())), expected);
}

TEST(SettingsToJsonTest, IsOneLineForTheLog) {
  const std::string line = SettingsToJson(Unusual(), JsonLayout::kOneLine);
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  EXPECT_EQ(nlohmann::json::parse(line), nlohmann::json::parse(Shown(Unusual())));
}

TEST(SettingsToJsonTest, IsReadBackAsItWas) {
  const std::string text = Shown(Unusual());
  const absl::StatusOr<Settings> settings = SettingsFromJson(text, Settings());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(Shown(*settings), text);
}

TEST(SettingsFromJsonTest, AnySubsetChangesWhatItNamesOnly) {
  const absl::StatusOr<Settings> settings =
      SettingsFromJson(R"({"coalesce": "off", "ab_percent": 99})", Unusual());
  ASSERT_TRUE(settings.ok()) << settings.status();
  Settings expected = Unusual();
  expected.treatments.coalesce = false;
  expected.ab_percent = 99;
  EXPECT_EQ(Shown(*settings), Shown(expected));
}

TEST(SettingsFromJsonTest, AnEmptyObjectChangesNothing) {
  const absl::StatusOr<Settings> settings = SettingsFromJson("{}", Unusual());
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(Shown(*settings), Shown(Unusual()));
}

TEST(SettingsFromJsonTest, TrueAndFalseAreOnAndOff) {
  const absl::StatusOr<Settings> settings =
      SettingsFromJson(R"({"nodelay": false, "quickack": true})", Settings());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_FALSE(settings->treatments.nodelay);
  EXPECT_TRUE(settings->treatments.quickack);
}

TEST(SettingsFromJsonTest, AnEmptySplitEndsIt) {
  const absl::StatusOr<Settings> settings = SettingsFromJson(R"({"ab": ""})", Unusual());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_FALSE(settings->ab.any());
}

TEST(SettingsFromJsonTest, WhatIsWrongIsNamed) {
  const std::string no_object = "the body is not a JSON object like {\"coalesce\": \"off\"}";
  const std::map<std::string, std::string> wrong = {
      {"", no_object},
      {"coalesce=off", no_object},
      {"[]", no_object},
      {"null", no_object},
      {"\"off\"", no_object},
      {"{\"coalesce\": \"off\"", no_object},
      {"{\"coalesce\": \"off\"} {}", no_object},
      {"{\"coalesce\": \"\xff\"}", no_object},
      {R"({"colesce": "off"})", "colesce: there is no such setting"},
      {R"({"": "off"})", ": there is no such setting"},
      {R"({"hold_limit": 1})", "hold_limit: there is no such setting"},
      {R"({"coalesce": "maybe"})", "coalesce: 'maybe' is neither on nor off"},
      {R"({"coalesce": 1})", "coalesce: on or off is wanted"},
      {R"({"coalesce": null})", "coalesce: on or off is wanted"},
      {R"({"quickack": {}})", "quickack: on or off is wanted"},
      {R"({"ab": "speed=off"})",
       "ab: 'speed=off' is not nodelay=, coalesce= or quickack= with on or off"},
      {R"({"ab": {"coalesce": "off"}})", "ab: a string is wanted"},
      {R"({"ab_percent": 101})", "ab_percent: '101' is not a whole number from 0 to 100"},
      {R"({"ab_percent": -1})", "ab_percent: '-1' is not a whole number from 0 to 100"},
      {R"({"ab_percent": 18446744073709551615})",
       "ab_percent: '18446744073709551615' is not a whole number from 0 to 100"},
      {R"({"ab_percent": 12.5})", "ab_percent: a whole number is wanted"},
      {R"({"ab_percent": "50"})", "ab_percent: a whole number is wanted"},
      {R"({"log_level": "loud"})", "log_level: 'loud' is not one of debug, info, warning, error"},
      {R"({"log_level": 3})", "log_level: a string is wanted"},
  };
  for (const auto& [text, message] : wrong) {
    const absl::StatusOr<Settings> settings = SettingsFromJson(text, Settings());
    EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(settings.status().message(), message) << text;
  }
}

TEST(SettingsFromJsonTest, OneWrongMemberSpoilsTheGoodOnes) {
  EXPECT_FALSE(SettingsFromJson(R"({"ab_percent": 1, "coalesce": "x"})", Settings()).ok());
}

TEST(SettingsFromJsonTest, NestingAsDeepAsABodyAllowsIsNoHarm) {
  const std::string deep(60'000, '[');
  EXPECT_FALSE(SettingsFromJson(deep, Settings()).ok());
  EXPECT_FALSE(SettingsFromJson("{\"ab\":" + deep, Settings()).ok());
}

}  // namespace
}  // namespace mcscope::admin
