// The sliding percentiles as the JSON of /legs.json.
#ifndef MCSCOPE_PROXY_ADMIN_LEGS_JSON_H_
#define MCSCOPE_PROXY_ADMIN_LEGS_JSON_H_

#include <string>
#include <utility>
#include <vector>

#include "metrics/window.h"

namespace mcscope::admin {

// By route name: the quantiles of its series. One object:
//   {"routes": {NAME: [{"command": "set" or "all", "arm", "leg", "window": "10s", "count",
//                       "p50_us", "p90_us", "p99_us", "p99.9_us", "p99.99_us", "max_us"}, ...]}}
std::string LegsToJson(
    const std::vector<std::pair<std::string, std::vector<metrics::WindowQuantiles>>>& routes);

}  // namespace mcscope::admin

#endif  // MCSCOPE_PROXY_ADMIN_LEGS_JSON_H_
