#include "protocol/text_line.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/match.h"
#include "protocol/meta_flags.h"
#include "protocol/tokenizer.h"

namespace mcscope::protocol {
namespace {

constexpr uint64_t kBlockEnd = 2;      // CRLF
constexpr size_t kMaxMetaTokens = 19;  // command, key and flags
constexpr absl::string_view kNoreply = "noreply";

// Reads a data length as memcached does: into 32 bits, whatever the number's size.
std::optional<uint64_t> ReadLength(absl::string_view token) {
  const std::optional<int64_t> number = ReadSigned(token);
  if (!number) return std::nullopt;
  const auto length = static_cast<int32_t>(static_cast<uint32_t>(*number));
  if (length < 0 || length > std::numeric_limits<int32_t>::max() - 2) return std::nullopt;
  return static_cast<uint64_t>(length);
}

bool IsKey(absl::string_view token) { return token.size() <= kMaxKeyBytes; }

bool CountIs(const Tokens& tokens, size_t least, size_t most) {
  return tokens.count >= least && tokens.count <= most;
}

// `noreply` in the last place silences even the errors of its line.
void ReadNoreply(const Tokens& tokens, Request* request) {
  if (tokens.last() == kNoreply) request->answer = Answer::kNever;
}

// set, add, replace, append, prepend and cas.
void ReadStorage(const Tokens& tokens, TextLine* line) {
  const bool is_cas = line->request.command == Command::kCas;
  const size_t arguments = is_cas ? 6 : 5;
  line->request.refused = true;
  if (!CountIs(tokens, arguments, arguments + 1)) return;
  ReadNoreply(tokens, &line->request);
  const std::optional<uint64_t> length = ReadLength(tokens.at[4]);
  if (!IsKey(tokens.at[1]) || !ReadUnsigned(tokens.at[2]) || !ReadSigned(tokens.at[3]) || !length ||
      (is_cas && !ReadUnsigned(tokens.at[5]))) {
    return;
  }
  line->request.refused = false;
  line->block = *length + kBlockEnd;
}

// mg, ms, md and ma. Errors found before the flags are read are answered even when `q` is there.
void ReadMeta(const Tokens& tokens, TextLine* line) {
  Request& request = line->request;
  const bool has_block = request.command == Command::kMs;
  const size_t first_flag = has_block ? 3 : 2;
  request.refused = true;
  if (!CountIs(tokens, first_flag, kMaxMetaTokens) || !IsKey(tokens.at[1])) return;
  if (has_block) {
    const std::optional<uint64_t> length = ReadLength(tokens.at[2]);
    if (!length) return;
    line->block = *length + kBlockEnd;
  }
  const MetaFlags flags = ReadMetaFlags(request.command, tokens, first_flag);
  request.refused = flags.refused;
  request.opaque_hash = flags.opaque_hash;
  request.key_hash = flags.key_hash;
  if (!flags.quiet) return;
  request.answer = Answer::kPerhaps;
  request.creates = flags.creates && request.command == Command::kMa;
}

void ReadMe(const Tokens& tokens, Request* request) {
  const bool binary_key = tokens.count > 2 && tokens.at[2] == "b";
  request->refused =
      tokens.count < 2 || !IsKey(tokens.at[1]) || (binary_key && !DecodesAsBase64(tokens.at[1]));
}

bool HasLongKey(const Tokens& tokens, size_t first) {
  for (size_t i = first; i < tokens.count; ++i) {
    if (!IsKey(tokens.at[i])) return true;
  }
  return false;
}

// get, gets, gat and gats: any number of keys.
void ReadGet(const Tokens& tokens, Request* request) {
  const bool touches = request->command == Command::kGat || request->command == Command::kGats;
  if (tokens.count < 2 || (touches && !ReadSigned(tokens.at[1]))) {
    request->refused = true;
    return;
  }
  bool long_key = HasLongKey(tokens, touches ? 2 : 1);
  for (absl::string_view rest = tokens.rest; !rest.empty() && !long_key;) {
    const Tokens more = Tokenize(rest);
    long_key = HasLongKey(more, 0);
    rest = more.rest;
  }
  request->drops_unsent_replies = long_key;
  request->refused = long_key;
}

void ReadDelete(const Tokens& tokens, Request* request) {
  request->refused = true;
  if (!CountIs(tokens, 2, 4)) return;
  if (tokens.count > 2) {
    ReadNoreply(tokens, request);
    const bool noreply = request->answer == Answer::kNever;
    const bool hold_is_zero = tokens.at[2] == "0";  // a deferred delete, long gone
    if (tokens.count == 3 ? !hold_is_zero && !noreply : !hold_is_zero || !noreply) return;
  }
  request->refused = !IsKey(tokens.at[1]);
}

// incr, decr and touch.
void ReadChange(const Tokens& tokens, Request* request) {
  request->refused = true;
  if (!CountIs(tokens, 3, 4)) return;
  ReadNoreply(tokens, request);
  const bool is_number = request->command == Command::kTouch
                             ? ReadSigned(tokens.at[2]).has_value()
                             : ReadUnsigned(tokens.at[2]).has_value();
  request->refused = !IsKey(tokens.at[1]) || !is_number;
}

void ReadFlushAll(const Tokens& tokens, Request* request) {
  request->refused = true;
  if (!CountIs(tokens, 1, 3)) return;
  ReadNoreply(tokens, request);
  const size_t bare = request->answer == Answer::kNever ? 2 : 1;
  request->refused = tokens.count != bare && !ReadSigned(tokens.at[1]);
}

// verbosity and cache_memlimit: one number.
void ReadSetting(const Tokens& tokens, Request* request) {
  request->refused = true;
  if (!CountIs(tokens, 2, 3)) return;
  ReadNoreply(tokens, request);
  request->refused = !ReadUnsigned(tokens.at[1]);
}

// slabs knows `noreply` in `automove` alone.
void ReadSlabs(const Tokens& tokens, Request* request) {
  if (tokens.count >= 3 && tokens.at[1] == "automove") ReadNoreply(tokens, request);
}

void ReadLruCrawler(const Tokens& tokens, TextLine* line) {
  if (tokens.count != 3) return;
  // The second is a later version's; this one answers it with an error.
  if (tokens.at[1] == "metadump" || tokens.at[1] == "mgdump") {
    line->opaque = OpaqueReason::kMetadump;
  }
}

bool IsLogName(absl::string_view word) {
  static constexpr std::array<absl::string_view, 9> kNames = {
      "rawcmds",    "evictions", "fetchers",    "mutations", "sysevents",
      "connevents", "proxyreqs", "proxyevents", "proxyuser"};
  return std::find(kNames.begin(), kNames.end(), word) != kNames.end();
}

// A log that it does not know makes memcached answer with an error and go on; `noreply` is none
// that it knows, but silences the error.
void ReadWatch(const Tokens& tokens, TextLine* line) {
  for (size_t i = 1; i < tokens.count; ++i) {
    if (IsLogName(tokens.at[i])) continue;
    line->request.refused = true;
    ReadNoreply(tokens, &line->request);
    return;
  }
  line->opaque = OpaqueReason::kWatch;
}

// Words that memcached does not know, and `misbehave`, which only its debug build does.
void ReadUnknown(const Tokens& tokens, Request* request) {
  request->refused = true;
  const absl::string_view word = tokens.at[0];
  if (word == "extstore") {
    request->refused = false;
    if (tokens.count >= 2) ReadNoreply(tokens, request);
    return;
  }
  // It takes a line that ends like a request of HTTP for an attack, and closes; but not after words
  // with one of these initials, which its dispatch handles before.
  const bool handled =
      absl::StrContains("gsacidt", word[0]) || (word.size() == 2 && word[0] == 'm');
  if (!handled && absl::StartsWith(tokens.last(), "HTTP/")) request->answer = Answer::kNever;
}

void ReadArguments(const Tokens& tokens, TextLine* line) {
  Request& request = line->request;
  switch (request.command) {
    case Command::kGet:
    case Command::kGets:
    case Command::kGat:
    case Command::kGats:
      return ReadGet(tokens, &request);
    case Command::kSet:
    case Command::kAdd:
    case Command::kReplace:
    case Command::kAppend:
    case Command::kPrepend:
    case Command::kCas:
      return ReadStorage(tokens, line);
    case Command::kDelete:
      return ReadDelete(tokens, &request);
    case Command::kIncr:
    case Command::kDecr:
    case Command::kTouch:
      return ReadChange(tokens, &request);
    case Command::kMg:
    case Command::kMs:
    case Command::kMd:
    case Command::kMa:
      return ReadMeta(tokens, line);
    case Command::kMe:
      return ReadMe(tokens, &request);
    case Command::kFlushAll:
      return ReadFlushAll(tokens, &request);
    case Command::kVerbosity:
    case Command::kCacheMemlimit:
      return ReadSetting(tokens, &request);
    case Command::kLru:
      if (tokens.count >= 2) ReadNoreply(tokens, &request);
      return;
    case Command::kSlabs:
      return ReadSlabs(tokens, &request);
    case Command::kLruCrawler:
      return ReadLruCrawler(tokens, line);
    case Command::kWatch:
      return ReadWatch(tokens, line);
    case Command::kRefreshCerts:
      // Success is silenced, failure is not.
      if (tokens.last() == kNoreply) request.answer = Answer::kPerhaps;
      return;
    case Command::kQuit:
      request.answer = Answer::kNever;
      return;
    case Command::kMisbehave:
    case Command::kNoop:
    case Command::kSasl:
    case Command::kOther:
      return ReadUnknown(tokens, &request);
    case Command::kMn:
    case Command::kVersion:
    case Command::kShutdown:
    case Command::kStats:
      return;
  }
}

}  // namespace

TextLine ReadTextLine(absl::string_view text) {
  TextLine line;
  // The most frequent of all lines needs no more than this: with so few bytes no key is too long.
  if (absl::StartsWith(text, "get ") && text.size() <= kMaxKeyBytes && text.back() != ' ') {
    line.request.command = Command::kGet;
    return line;
  }
  const Tokens tokens = Tokenize(text);
  if (tokens.count == 0 || tokens.at[0].size() < 2) {
    line.request.refused = true;
    return line;
  }
  line.request.command = FindCommand(tokens.at[0]);
  ReadArguments(tokens, &line);
  return line;
}

}  // namespace mcscope::protocol
