// Lines, tokens and numbers as memcached 1.6.18 reads them: its quirks included, since whatever it
// reads differently from us makes requests and replies drift apart.
//
// Pure functions; views live as long as the bytes they were cut from.
#ifndef MCSCOPE_PROTOCOL_TOKENIZER_H_
#define MCSCOPE_PROTOCOL_TOKENIZER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace mcscope::protocol {

// The longest key memcached takes.
inline constexpr size_t kMaxKeyBytes = 250;

// The text memcached sees of a request line: `bytes` are those before the newline. A carriage
// return at the end goes, unless it is all there is; a NUL ends the text early.
absl::string_view RequestText(absl::string_view bytes);

// The first tokens of a line, which only spaces part (a tab belongs to its token).
struct Tokens {
  static constexpr size_t kMax = 23;

  size_t count = 0;
  std::array<absl::string_view, kMax> at;
  absl::string_view rest;  // what follows the kMax-th token and its space

  // The token where memcached looks for `noreply`. Needs at least one token.
  absl::string_view last() const { return at[count - 1]; }
};
Tokens Tokenize(absl::string_view text);

// Numbers by the rules of strtol and strtoull: leading white space and a sign are fine, the digits
// end at the token's end or at white space. nullopt where memcached says "bad".
std::optional<int64_t> ReadSigned(absl::string_view token);
std::optional<uint64_t> ReadUnsigned(absl::string_view token);

// A hash of a token that may come in pieces.
class TokenHash {
 public:
  void Add(absl::string_view piece) {
    for (const char c : piece) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  // Never 0.
  uint32_t value() const { return hash_ == 0 ? 1 : hash_; }

 private:
  uint32_t hash_ = 2166136261u;  // FNV-1a
};

// Likewise of a whole one.
uint32_t HashToken(absl::string_view token);

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_TOKENIZER_H_
