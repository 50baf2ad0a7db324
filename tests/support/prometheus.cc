#include "tests/support/prometheus.h"

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/support/http.h"
#include "tests/support/wait.h"

namespace mcscope::test {

using Json = nlohmann::json;

Prometheus::Prometheus(const Endpoint& target) {
  const std::string config = directory_.File("prometheus.yml");
  WriteFile(config,
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            "scrape_configs:\n"
            "  - job_name: mcscope\n"
            "    static_configs: [{targets: ['" +
                target.ToString() + "']}]\n");
  Command command;
  command.argv = {"prometheus", "--config.file=" + config,
                  "--storage.tsdb.path=" + directory_.File("data"),
                  "--web.listen-address=127.0.0.1:0"};
  process_ = std::make_unique<Subprocess>(command);
  const std::vector<std::string> line = process_->WaitForLine(
      "msg=\"Listening on\" address=127\\.0\\.0\\.1:(\\d+)", absl::Seconds(30));
  int port = 0;
  if (line.size() != 2 || !absl::SimpleAtoi(line[1], &port)) {
    std::cerr << "prometheus did not start:\n" << process_->Stderr();
    std::abort();
  }
  endpoint_ = Port(static_cast<uint16_t>(port));
  Eventually([this] { return HttpRequest(endpoint_, "GET", "/-/ready").status == 200; },
             absl::Seconds(30));
}

Json Prometheus::Query(const std::string& expression) const {
  const HttpResponse response =
      HttpRequest(endpoint_, "GET", "/api/v1/query?query=" + UrlEncoded(expression));
  const Json answer = Json::parse(response.body, nullptr, false);
  if (answer.is_discarded() || answer.value("status", "") != "success") {
    return Json(Json::value_t::discarded);
  }
  return answer["data"]["result"];
}

Json Prometheus::WaitForData(const std::string& expression, absl::Duration limit) const {
  const absl::Time deadline = absl::Now() + limit;
  Json result;
  do {
    result = Query(expression);
    if (result.is_array() && !result.empty() && std::isfinite(FirstValue(result))) return result;
    absl::SleepFor(absl::Milliseconds(100));
  } while (absl::Now() < deadline);
  return result;
}

double FirstValue(const Json& result) {
  if (!result.is_array() || result.empty()) return std::nan("");
  return std::strtod(result[0]["value"][1].get<std::string>().c_str(), nullptr);
}

}  // namespace mcscope::test
