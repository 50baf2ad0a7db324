#include "proxy/admin/legs_json.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "protocol/command.h"

namespace mcscope::admin {
namespace {

using nlohmann::ordered_json;

constexpr double kNsPerUs = 1e3;

std::string QuantileName(double quantile) {
  return quantile == 1 ? "max_us" : absl::StrCat("p", quantile * 100, "_us");
}

ordered_json ToJson(const metrics::WindowQuantiles& quantiles) {
  ordered_json row;
  row["command"] = quantiles.command ? std::string(protocol::Info(*quantiles.command).name) : "all";
  row["arm"] = std::string(metrics::Name(quantiles.arm));
  row["leg"] = std::string(metrics::SeriesName(quantiles.leg));
  row["window"] = absl::StrCat(quantiles.window_seconds, "s");
  row["count"] = quantiles.count;
  for (size_t i = 0; i < metrics::kQuantiles.size(); ++i) {
    row[QuantileName(metrics::kQuantiles[i])] =
        static_cast<double>(quantiles.value_ns[i]) / kNsPerUs;
  }
  return row;
}

}  // namespace

std::string LegsToJson(
    const std::vector<std::pair<std::string, std::vector<metrics::WindowQuantiles>>>& routes) {
  ordered_json object;
  object["routes"] = ordered_json::object();
  for (const auto& [name, series] : routes) {
    ordered_json rows = ordered_json::array();
    for (const metrics::WindowQuantiles& quantiles : series) rows.push_back(ToJson(quantiles));
    object["routes"][name] = std::move(rows);
  }
  return object.dump(1) + "\n";
}

}  // namespace mcscope::admin
