#include "protocol/meta_flags.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace mcscope::protocol {
namespace {

constexpr size_t kMaxOpaqueToken = 32;  // the `O` included

bool IsBase64(char c) { return absl::ascii_isalnum(c) || c == '+' || c == '/' || c == '='; }

bool IsMode(Command command, char mode) {
  const absl::string_view modes = command == Command::kMs   ? "EAPRS"
                                  : command == Command::kMa ? "ID+-"
                                                            : "";
  // mg and md take a mode without looking at it.
  return modes.empty() || modes.find(mode) != absl::string_view::npos;
}

// Is the flag `token`, whose letter is its first byte, one that memcached takes?
bool IsGoodFlag(Command command, absl::string_view token, absl::string_view key) {
  const absl::string_view value = token.substr(1);
  switch (token[0]) {
    case 'b':
      return DecodesAsBase64(key);
    case 'N':
    case 'T':
    case 'R':
      return ReadSigned(value).has_value();
    case 'F':
    case 'C':
    case 'J':
    case 'D':
      return ReadUnsigned(value).has_value();
    case 'M':
      return value.size() == 1 && IsMode(command, value[0]);
    case 'O':
      return token.size() <= kMaxOpaqueToken;
    case 'P':
    case 'L':
    case 'I':
    case 'l':
    case 'k':
    case 's':
    case 't':
    case 'c':
    case 'f':
    case 'v':
    case 'h':
    case 'u':
    case 'q':
      return true;
    default:
      return false;
  }
}

}  // namespace

bool DecodesAsBase64(absl::string_view key) {
  // memcached skips what is not of the alphabet, wants whole groups of four, and stops at the first
  // group with padding.
  const auto count = std::count_if(key.begin(), key.end(), IsBase64);
  if (count == 0 || count % 4 != 0) return false;
  size_t place = 0;
  size_t padding = 0;
  for (const char c : key) {
    if (!IsBase64(c)) continue;
    if (c == '=') ++padding;
    if (++place % 4 == 0 && padding > 0) return padding <= 2;
  }
  return true;
}

MetaFlags ReadMetaFlags(Command command, const Tokens& tokens, size_t first) {
  MetaFlags flags;
  const absl::string_view key = tokens.at[1];
  uint64_t seen[2] = {0, 0};
  bool asks_key = false;
  bool binary_key = false;
  for (size_t i = first; i < tokens.count; ++i) {
    const absl::string_view token = tokens.at[i];
    const auto letter = static_cast<unsigned char>(token[0]);
    if (letter >= 127) {
      flags.refused = true;
      continue;
    }
    const uint64_t bit = uint64_t{1} << (letter % 64);
    if ((seen[letter / 64] & bit) != 0) flags.refused = true;  // each letter may stand once
    seen[letter / 64] |= bit;
    if (!IsGoodFlag(command, token, key)) flags.refused = true;
    if (letter == 'q') flags.quiet = true;
    if (letter == 'N') flags.creates = true;
    if (letter == 'k') asks_key = true;
    if (letter == 'b') binary_key = true;
    if (letter == 'O') flags.opaque_hash = HashToken(token);
  }
  // A key in base64 may come back spelled otherwise.
  if (asks_key && !binary_key) flags.key_hash = HashToken(key);
  return flags;
}

}  // namespace mcscope::protocol
