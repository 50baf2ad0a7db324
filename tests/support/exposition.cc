#include "tests/support/exposition.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace mcscope::test {
namespace {

// `name="value",...}`, the closing brace included; what follows it is left in `text`.
Labels TakeLabels(absl::string_view* text) {
  Labels labels;
  while (!text->empty() && text->front() != '}') {
    const size_t equals = text->find("=\"");
    if (equals == absl::string_view::npos) return labels;
    std::string name(text->substr(0, equals));
    text->remove_prefix(equals + 2);
    std::string value;
    while (!text->empty() && text->front() != '"') {
      if (text->front() == '\\') text->remove_prefix(1);
      value.push_back(text->front());
      text->remove_prefix(1);
    }
    text->remove_prefix(1);
    if (!text->empty() && text->front() == ',') text->remove_prefix(1);
    labels[std::move(name)] = std::move(value);
  }
  if (!text->empty()) text->remove_prefix(1);
  return labels;
}

bool Carries(const Sample& sample, const Labels& labels) {
  return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
    const auto found = sample.labels.find(label.first);
    return found != sample.labels.end() && found->second == label.second;
  });
}

}  // namespace

Exposition::Exposition(const std::string& text) : text_(text) {
  for (absl::string_view line : absl::StrSplit(text_, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    Sample sample;
    const size_t name_end = line.find_first_of("{ ");
    if (name_end == absl::string_view::npos) continue;
    sample.name = std::string(line.substr(0, name_end));
    const bool labelled = line[name_end] == '{';
    line.remove_prefix(name_end + (labelled ? 1 : 0));
    if (labelled) sample.labels = TakeLabels(&line);
    sample.value = std::strtod(std::string(line).c_str(), nullptr);
    samples_.push_back(std::move(sample));
  }
}

std::vector<Sample> Exposition::Select(const std::string& name, const Labels& labels) const {
  std::vector<Sample> selected;
  std::copy_if(
      samples_.begin(), samples_.end(), std::back_inserter(selected),
      [&](const Sample& sample) { return sample.name == name && Carries(sample, labels); });
  return selected;
}

double Exposition::Sum(const std::string& name, const Labels& labels) const {
  double sum = 0;
  for (const Sample& sample : Select(name, labels)) sum += sample.value;
  return sum;
}

bool Exposition::Has(const std::string& name, const Labels& labels) const {
  return !Select(name, labels).empty();
}

double Exposition::UpTo(const std::string& histogram, double edge, const Labels& labels) const {
  double sum = 0;
  for (const Sample& sample : Select(histogram + "_bucket", labels)) {
    const double le = std::strtod(sample.labels.at("le").c_str(), nullptr);
    if (std::isinf(edge) ? std::isinf(le) : std::abs(le - edge) <= edge * 1e-9) sum += sample.value;
  }
  return sum;
}

double Exposition::Between(const std::string& histogram, double above, double up_to,
                           const Labels& labels) const {
  return UpTo(histogram, up_to, labels) - (above > 0 ? UpTo(histogram, above, labels) : 0);
}

}  // namespace mcscope::test
