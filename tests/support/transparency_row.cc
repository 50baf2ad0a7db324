#include "tests/support/transparency_row.h"

#include <gtest/gtest.h>

#include <iostream>

namespace mcscope::test {

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

void ExpectSameInEveryCombination(const std::string& binary, const Row& row) {
  Oracle oracle(binary);
  absl::optional<Outcome> direct;
  for (const Combination& combination : AllCombinations()) {
    oracle.proxy().Set(combination.settings);
    const Oracle::Verdict verdict = oracle.Compare(row.script, row.mask, direct);
    EXPECT_TRUE(verdict.same) << combination.name << "\n"
                              << ToString(row.script)
                              << "direct:  " << ToString(Masked(verdict.direct, row.mask))
                              << "\nproxied: " << ToString(Masked(verdict.proxied, row.mask));
    direct = verdict.direct;
    if (verdict.second_look) std::cout << combination.name << ": took a second look\n";
  }
}

std::string Repeated(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

Script SentInPieces(const std::string& bytes, size_t piece, absl::Duration pause) {
  Script script;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    script.push_back(Send(bytes.substr(at, piece)));
    if (pause > absl::ZeroDuration()) script.push_back(Pause(pause));
  }
  return script;
}

Script Then(Script first, const Script& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

}  // namespace mcscope::test
