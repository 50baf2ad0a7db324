// A page of metrics in Prometheus' text format, as numbers that tests can ask for.
#ifndef MCSCOPE_TESTS_SUPPORT_EXPOSITION_H_
#define MCSCOPE_TESTS_SUPPORT_EXPOSITION_H_

#include <map>
#include <string>
#include <vector>

namespace mcscope::test {

using Labels = std::map<std::string, std::string>;

struct Sample {
  std::string name;
  Labels labels;
  double value = 0;
};

class Exposition {
 public:
  explicit Exposition(const std::string& text);

  // The sum of all samples of `name` that carry at least `labels`; 0 when there is none.
  double Sum(const std::string& name, const Labels& labels = {}) const;
  // Those samples.
  std::vector<Sample> Select(const std::string& name, const Labels& labels = {}) const;
  bool Has(const std::string& name, const Labels& labels = {}) const;

  // Of a histogram's `_bucket` samples: how many observations lie in (above, up_to], both of them
  // bucket edges in the metric's unit.
  double Between(const std::string& histogram, double above, double up_to,
                 const Labels& labels = {}) const;

  const std::vector<Sample>& samples() const { return samples_; }
  const std::string& text() const { return text_; }

 private:
  double UpTo(const std::string& histogram, double edge, const Labels& labels) const;

  std::string text_;
  std::vector<Sample> samples_;
};

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_EXPOSITION_H_
