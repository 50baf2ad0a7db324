// Numbers as users write them: digits and nothing else (absl's parsers take blanks and signs too).
#ifndef MCSCOPE_PROXY_IO_DIGITS_H_
#define MCSCOPE_PROXY_IO_DIGITS_H_

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace mcscope::io {

// True, with `*number` set, when `text` is digits for a number up to `most`.
inline bool ParseDigits(absl::string_view text, uint64_t most, uint64_t* number) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, number) && *number <= most;
}

}  // namespace mcscope::io

#endif  // MCSCOPE_PROXY_IO_DIGITS_H_
