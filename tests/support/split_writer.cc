#include "tests/support/split_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace mcscope::test {
namespace {

ConnectOptions WithNagle() {
  ConnectOptions options;
  options.nodelay = false;
  return options;
}

}  // namespace

SplitWriter::SplitWriter(const Endpoint& endpoint, size_t value_bytes)
    : client_(endpoint, WithNagle()), value_(value_bytes, 'v') {}

absl::Duration SplitWriter::Set() {
  const absl::Time start = absl::Now();
  client_.Clear();
  client_.Send(absl::StrCat("set split 0 0 ", value_.size(), "\r\n"));
  client_.Send(value_);
  client_.Send("\r\n");
  all_stored_ &= client_.ReadUntil("\r\n") && client_.received() == "STORED\r\n";
  return absl::Now() - start;
}

std::vector<absl::Duration> SplitWriter::Sets(int count) {
  std::vector<absl::Duration> durations;
  for (int i = 0; i < count; ++i) durations.push_back(Set());
  return durations;
}

absl::Duration Median(std::vector<absl::Duration> durations) {
  const auto middle = durations.begin() + static_cast<ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
}

}  // namespace mcscope::test
