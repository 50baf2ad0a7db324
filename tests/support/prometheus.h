// A real Prometheus that scrapes one proxy each second.
#ifndef MCSCOPE_TESTS_SUPPORT_PROMETHEUS_H_
#define MCSCOPE_TESTS_SUPPORT_PROMETHEUS_H_

#include <memory>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/support/endpoint.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace mcscope::test {

class Prometheus {
 public:
  // Scrapes http://TARGET/metrics under the job "mcscope"; answering when the constructor is
  // through.
  explicit Prometheus(const Endpoint& target);

  // The `data.result` array of an instant query; a discarded value when it was refused.
  nlohmann::json Query(const std::string& expression) const;

  // Asks every 100 ms until the query answers with at least one sample that is a number.
  nlohmann::json WaitForData(const std::string& expression, absl::Duration limit) const;

 private:
  TempDir directory_;
  std::unique_ptr<Subprocess> process_;
  Endpoint endpoint_;
};

// The value of the first sample of an instant query's result.
double FirstValue(const nlohmann::json& result);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_PROMETHEUS_H_
