// One known trap of transparency: what a client does, to be told to memcached directly and through
// the proxy; and the means to write such things down.
#ifndef MCSCOPE_TESTS_SUPPORT_TRANSPARENCY_ROW_H_
#define MCSCOPE_TESTS_SUPPORT_TRANSPARENCY_ROW_H_

#include <ostream>
#include <string>

#include "tests/support/oracle.h"
#include "tests/support/tcp_client.h"

namespace mcscope::test {

struct Row {
  const char* name;
  Script script;
  Mask mask = NoMask;
};

void PrintTo(const Row& row, std::ostream* out);  // for GoogleTest

// Starts two memcacheds and the proxy `binary`, and expects the same bytes and the same way of
// ending from both in each combination of treatments.
void ExpectSameInEveryCombination(const std::string& binary, const Row& row);

// Enough for memcached and the proxy to read what was sent before, mostly.
inline constexpr absl::Duration kGap = absl::Milliseconds(2);

std::string Repeated(int count, const std::string& text);
// Sends of `piece` bytes each, with a pause behind each unless it is zero.
Script SentInPieces(const std::string& bytes, size_t piece, absl::Duration pause);
Script Then(Script first, const Script& more);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_TRANSPARENCY_ROW_H_
