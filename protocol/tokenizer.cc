#include "protocol/tokenizer.h"

#include <cstring>
#include <limits>

namespace mcscope::protocol {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A number before its range is judged.
struct Digits {
  bool valid = false;  // there are digits, and they end where they may
  bool negative = false;
  bool overflow = false;  // over 64 bits
  uint64_t magnitude = 0;
};

Digits ReadDigits(absl::string_view token) {
  Digits digits;
  size_t i = 0;
  while (i < token.size() && IsSpace(token[i])) ++i;
  if (i < token.size() && (token[i] == '-' || token[i] == '+')) {
    digits.negative = token[i] == '-';
    ++i;
  }
  const size_t first = i;
  for (; i < token.size() && IsDigit(token[i]); ++i) {
    const uint64_t digit = token[i] - '0';
    constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
    if (digits.magnitude >= kMax / 10 && (digits.magnitude > kMax / 10 || digit > kMax % 10)) {
      digits.overflow = true;
    }
    digits.magnitude = digits.magnitude * 10 + digit;
  }
  digits.valid = i > first && (i == token.size() || IsSpace(token[i]));
  return digits;
}

}  // namespace

absl::string_view RequestText(absl::string_view bytes) {
  if (bytes.size() > 1 && bytes.back() == '\r') bytes.remove_suffix(1);
  if (bytes.empty()) return bytes;
  const void* nul = std::memchr(bytes.data(), '\0', bytes.size());
  if (nul == nullptr) return bytes;
  return bytes.substr(0, static_cast<const char*>(nul) - bytes.data());
}

Tokens Tokenize(absl::string_view text) {
  Tokens tokens;
  const char* const end = text.data() + text.size();
  const char* start = text.data();
  while (tokens.count < Tokens::kMax) {
    while (start != end && *start == ' ') ++start;
    if (start == end) return tokens;
    const char* stop = start;
    while (stop != end && *stop != ' ') ++stop;
    tokens.at[tokens.count++] = absl::string_view(start, stop - start);
    start = stop == end ? stop : stop + 1;
  }
  tokens.rest = absl::string_view(start, end - start);
  return tokens;
}

std::optional<int64_t> ReadSigned(absl::string_view token) {
  const Digits digits = ReadDigits(token);
  // One more is representable below zero than above it.
  const uint64_t limit = uint64_t{std::numeric_limits<int64_t>::max()} + (digits.negative ? 1 : 0);
  if (!digits.valid || digits.overflow || digits.magnitude > limit) return std::nullopt;
  const uint64_t value = digits.negative ? uint64_t{0} - digits.magnitude : digits.magnitude;
  return static_cast<int64_t>(value);
}

std::optional<uint64_t> ReadUnsigned(absl::string_view token) {
  const Digits digits = ReadDigits(token);
  if (!digits.valid || digits.overflow) return std::nullopt;
  // strtoull negates what a minus sign precedes; memcached looks for the sign (anywhere in the
  // token) only when the outcome is so large that it would be negative as a signed number.
  const uint64_t value = digits.negative ? uint64_t{0} - digits.magnitude : digits.magnitude;
  if (value >> 63 != 0 && token.find('-') != absl::string_view::npos) return std::nullopt;
  return value;
}

uint32_t HashToken(absl::string_view token) {
  TokenHash hash;
  hash.Add(token);
  return hash.value();
}

}  // namespace mcscope::protocol
