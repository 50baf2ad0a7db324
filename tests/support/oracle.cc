#include "tests/support/oracle.h"

#include <algorithm>
#include <regex>
#include <utility>

#include "tests/support/binary_packet.h"

namespace mcscope::test {

std::string NoMask(std::string received) { return received; }

std::string MaskStatistics(std::string received) {
  static const std::regex stat("(^|\n)(STAT \\S+) [^\r\n]*");
  static const std::regex times("\\b(ts|la|exp|size)=[-0-9.]+");
  return std::regex_replace(std::regex_replace(received, stat, "$1$2 *"), times, "$1=*");
}

std::string MaskBinaryStatistics(std::string received) {
  constexpr size_t kHeader = 24;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(received[at]); };
  std::string masked;
  size_t at = 0;
  while (received.size() - at >= kHeader) {
    const size_t key = byte(at + 2) * 256u + byte(at + 3);
    size_t body = 0;
    for (size_t i = 8; i < 12; ++i) body = body * 256 + byte(at + i);
    const bool statistic = byte(at + 1) == kOpStat && key > 0 && key <= body;
    if (statistic) {
      // The key stays, the value and how long it is go.
      masked += received.substr(at, 8) + received.substr(at + 12, kHeader - 12 + key);
    } else {
      masked += received.substr(at, kHeader + body);
    }
    at = std::min(received.size(), at + kHeader + body);
  }
  return masked + received.substr(at);
}

Outcome Masked(Outcome outcome, const Mask& mask) {
  outcome.received = mask(std::move(outcome.received));
  return outcome;
}

Oracle::Oracle(std::string binary, std::vector<std::string> options)
    : direct_(options),
      upstream_(std::move(options)),
      proxy_(std::move(binary), upstream_.endpoint()) {}

Outcome Oracle::Direct(const Script& script, absl::Duration extra_pause) {
  direct_.Restart();
  RunOptions options;
  options.extra_pause = extra_pause;
  return RunScript(direct_.endpoint(), script, options);
}

Outcome Oracle::Proxied(const Script& script, absl::Duration extra_pause, const Outcome& direct) {
  upstream_.Restart();
  RunOptions options;
  options.extra_pause = extra_pause;
  options.expected_bytes = direct.received.size();
  options.to_end = direct.ending != Ending::kOpen;
  options.quiet = absl::Milliseconds(20);
  options.limit = absl::Seconds(3);
  return RunScript(proxy_.endpoint(), script, options);
}

Oracle::Verdict Oracle::Compare(const Script& script, const Mask& mask,
                                absl::optional<Outcome> direct) {
  Verdict verdict;
  // memcached's answer can depend on which chunks one of its reads brought together, and on a busy
  // machine chunks meet by chance. With pauses long enough that they can not, there is one answer:
  // a difference is excused by nothing shorter.
  for (const int extra_ms : {0, 25, 200}) {
    const absl::Duration extra_pause = absl::Milliseconds(extra_ms);
    const bool known = extra_ms == 0 && direct.has_value();
    verdict.direct = known ? *direct : Direct(script, extra_pause);
    verdict.proxied = Proxied(script, extra_pause, verdict.direct);
    verdict.same = Masked(verdict.direct, mask) == Masked(verdict.proxied, mask);
    if (verdict.same) break;
    verdict.second_look = true;
  }
  return verdict;
}

const std::vector<Combination>& AllCombinations() {
  static const std::vector<Combination> all = {
      {"all_on", R"({"nodelay":"on","coalesce":"on","quickack":"on"})"},
      {"all_off", R"({"nodelay":"off","coalesce":"off","quickack":"off"})"},
      {"nodelay_alone", R"({"nodelay":"on","coalesce":"off","quickack":"off"})"},
      {"coalesce_alone", R"({"nodelay":"off","coalesce":"on","quickack":"off"})"},
      {"quickack_alone", R"({"nodelay":"off","coalesce":"off","quickack":"on"})"},
      {"without_nodelay", R"({"nodelay":"off","coalesce":"on","quickack":"on"})"},
      {"without_coalesce", R"({"nodelay":"on","coalesce":"off","quickack":"on"})"},
      {"without_quickack", R"({"nodelay":"on","coalesce":"on","quickack":"off"})"},
  };
  return all;
}

void PrintTo(const Combination& combination, std::ostream* out) { *out << combination.name; }

}  // namespace mcscope::test
