#include "proxy/admin/legs_json.h"

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace mcscope::admin {
namespace {

using metrics::Arm;
using metrics::Leg;
using metrics::WindowQuantiles;
using nlohmann::json;

TEST(LegsJsonTest, ARouteWithoutSamplesIsThereAndEmpty) {
  const json expected = {{"routes", {{"default", json::array()}, {"other", json::array()}}}};
  EXPECT_EQ(json::parse(LegsToJson({{"default", {}}, {"other", {}}})), expected);
}

TEST(LegsJsonTest, ShowsASeriesInMicroseconds) {
  WindowQuantiles quantiles;
  quantiles.window_seconds = 10;
  quantiles.command = protocol::Command::kSet;
  quantiles.arm = Arm::kB;
  quantiles.leg = Leg::kClientRead;
  quantiles.count = 7;
  quantiles.value_ns = {1'500, 2'000, 40'000'000, 41'000'000, 42'000'000, 43'000'001};
  const json expected = {{"command", "set"},     {"arm", "b"},         {"leg", "client_read"},
                         {"window", "10s"},      {"count", 7},         {"p50_us", 1.5},
                         {"p90_us", 2.0},        {"p99_us", 40000.0},  {"p99.9_us", 41000.0},
                         {"p99.99_us", 42000.0}, {"max_us", 43000.001}};
  const json object = json::parse(LegsToJson({{"default", {quantiles}}}));
  ASSERT_EQ(object["routes"]["default"].size(), 1u);
  EXPECT_EQ(object["routes"]["default"][0], expected);
}

TEST(LegsJsonTest, AllCommandsAndTheTotalHaveTheirNames) {
  WindowQuantiles quantiles;
  quantiles.window_seconds = 60;
  quantiles.count = 1;
  const json object = json::parse(LegsToJson({{"default", {quantiles}}}));
  const json& row = object["routes"]["default"][0];
  EXPECT_EQ(row["command"], "all");
  EXPECT_EQ(row["arm"], "a");
  EXPECT_EQ(row["leg"], "total");
  EXPECT_EQ(row["window"], "60s");
}

}  // namespace
}  // namespace mcscope::admin
