#include "protocol/text_reply.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "protocol/tokenizer.h"

namespace mcscope::protocol {
namespace {

constexpr size_t kNone = absl::string_view::npos;
constexpr uint64_t kBlockEnd = 2;  // CRLF

// The code of a meta reply that begins with `a` and `b`; kOther when they are none.
ReplyCode MetaCode(char a, char b) {
  switch (a) {
    case 'H':
      return b == 'D' ? ReplyCode::kHd : ReplyCode::kOther;
    case 'V':
      return b == 'A' ? ReplyCode::kVa : ReplyCode::kOther;
    case 'E':
      return b == 'N' ? ReplyCode::kEn : b == 'X' ? ReplyCode::kEx : ReplyCode::kOther;
    case 'N':
      return b == 'S' ? ReplyCode::kNs : b == 'F' ? ReplyCode::kNf : ReplyCode::kOther;
    case 'M':
      return b == 'N' ? ReplyCode::kMn : b == 'E' ? ReplyCode::kMe : ReplyCode::kOther;
    default:
      return ReplyCode::kOther;
  }
}

ReplyCode CodeOfWord(absl::string_view line) {
  struct Word {
    absl::string_view text;
    ReplyCode code;
  };
  static constexpr Word kWords[] = {
      {"END", ReplyCode::kEnd},         {"STORED", ReplyCode::kStored},
      {"OK", ReplyCode::kOk},           {"DELETED", ReplyCode::kDeleted},
      {"TOUCHED", ReplyCode::kTouched}, {"NOT_FOUND", ReplyCode::kNotFound},
      {"EXISTS", ReplyCode::kExists},   {"NOT_STORED", ReplyCode::kNotStored},
      {"RESET", ReplyCode::kReset},
  };
  for (const Word& word : kWords) {
    if (line == word.text) return word.code;
  }
  return ReplyCode::kOther;
}

ErrorKind KindOfError(absl::string_view line) {
  if (absl::StartsWith(line, "CLIENT_ERROR")) return ErrorKind::kClient;
  if (absl::StartsWith(line, "SERVER_ERROR object too large")) return ErrorKind::kTooLarge;
  if (absl::StartsWith(line, "SERVER_ERROR")) return ErrorKind::kServer;
  if (absl::StartsWith(line, "ERROR") || absl::StartsWith(line, "Error")) {
    return ErrorKind::kGeneric;
  }
  return ErrorKind::kNone;
}

bool IsNumber(absl::string_view line) {
  return !line.empty() && std::all_of(line.begin(), line.end(), absl::ascii_isdigit);
}

// The code that a reply's first line gives it.
ReplyCode CodeOf(absl::string_view line) {
  if (line.size() == 2 || (line.size() > 2 && line[2] == ' ')) {
    const ReplyCode meta = MetaCode(line[0], line[1]);
    if (meta != ReplyCode::kOther) return meta;
  }
  if (absl::StartsWith(line, "VALUE ")) return ReplyCode::kValues;
  const ReplyCode word = CodeOfWord(line);
  if (word != ReplyCode::kOther) return word;
  if (IsNumber(line)) return ReplyCode::kNumber;
  if (absl::StartsWith(line, "STAT ") || absl::StartsWith(line, "ITEM ") ||
      absl::StartsWith(line, "PREFIX ")) {
    return ReplyCode::kStats;
  }
  if (absl::StartsWith(line, "VERSION ")) return ReplyCode::kVersion;
  return KindOfError(line) == ErrorKind::kNone ? ReplyCode::kOther : ReplyCode::kError;
}

// The decimal number at the front of `text`, which ends there or at a space.
std::optional<uint64_t> ReadLength(absl::string_view text) {
  uint64_t length = 0;
  size_t i = 0;
  for (; i < text.size() && absl::ascii_isdigit(text[i]); ++i) {
    length = length * 10 + (text[i] - '0');
    if (length > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  }
  if (i == 0 || (i < text.size() && text[i] != ' ')) return std::nullopt;
  return length;
}

// Where the length stands in a VALUE line: after the word, the key and the client's flags.
size_t LengthInValue(absl::string_view line) {
  size_t at = std::strlen("VALUE ");
  for (int skipped = 0; skipped < 2; ++skipped) {
    at = line.find(' ', at);
    if (at == kNone) return kNone;
    ++at;
  }
  return at;
}

void ReadRepeated(absl::string_view line, Reply* reply) {
  if (line.size() <= 2) return;
  const Tokens tokens = Tokenize(line);
  for (size_t i = 1; i < tokens.count; ++i) {
    const absl::string_view token = tokens.at[i];
    if (token[0] == 'O') reply->opaque_hash = HashToken(token);
    if (token[0] == 'k') reply->key_hash = HashToken(token.substr(1));
    if (token == "b") {
      reply->key_hash = 0;  // the key is in base64, which its request need not have spelled so
      return;
    }
  }
}

}  // namespace

ReplyStep TextReplyFramer::Next(absl::string_view window) {
  ReplyStep step;
  if (state_ == State::kIdle) {
    state_ = State::kFirst;
    reply_ = Reply();
  }
  while (state_ != State::kOpaque && step.used < window.size()) {
    const Progress progress = Advance(window, &step.used);
    if (progress == Progress::kComplete) {
      state_ = State::kIdle;
      step.kind = StepKind::kComplete;
      step.reply = reply_;
      return step;
    }
    if (progress == Progress::kOpaque) state_ = State::kOpaque;
  }
  if (state_ == State::kOpaque) {
    step.kind = StepKind::kOpaque;
    step.used = 0;
  }
  return step;
}

// Takes the rest of a block or a line, as far as it is there.
TextReplyFramer::Progress TextReplyFramer::Advance(absl::string_view window, size_t* used) {
  absl::string_view rest = window.substr(*used);
  if (state_ == State::kBlock) {
    *used += block_.Take(rest);
    return block_.missing() > 0 ? Progress::kMore : FinishBlock();
  }
  const size_t remembered = line_ == nullptr ? 0 : line_->size();
  rest = rest.substr(0, kMaxLine + 1 - remembered);
  const size_t end = FindLineEnd(rest);
  if (end == kNone) {
    if (remembered + rest.size() > kMaxLine) return Progress::kOpaque;
    if (line_ == nullptr) line_ = std::make_unique<std::string>();
    line_->append(rest.data(), rest.size());
    *used += rest.size();
    return Progress::kMore;
  }
  *used += end + 1;
  if (line_ == nullptr) return ReadLine(rest.substr(0, end));
  const std::unique_ptr<std::string> line = std::move(line_);
  line->append(rest.data(), end);
  return ReadLine(*line);
}

// The newline in `bytes`, which follow those remembered, that ends the line. A key that memcached
// knows from base64 may come back as it is, with newlines in it: in a meta reply that repeats
// something, only a CRLF is the end.
size_t TextReplyFramer::FindLineEnd(absl::string_view bytes) const {
  const size_t remembered = line_ == nullptr ? 0 : line_->size();
  const auto at = [&](size_t i) { return i < remembered ? (*line_)[i] : bytes[i - remembered]; };
  for (size_t from = 0;;) {
    // memchr by hand: string_view::find is a call into a shared library on Debian.
    const void* const found = std::memchr(bytes.data() + from, '\n', bytes.size() - from);
    if (found == nullptr) return kNone;
    const size_t newline = static_cast<const char*>(found) - bytes.data();
    const size_t length = remembered + newline;
    if (state_ != State::kFirst || length < 3 || at(length - 1) == '\r') return newline;
    if (at(2) != ' ' || MetaCode(at(0), at(1)) == ReplyCode::kOther) return newline;
    from = newline + 1;
  }
}

TextReplyFramer::Progress TextReplyFramer::ReadLine(absl::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  switch (state_) {
    case State::kFirst:
      return ReadFirst(line);
    case State::kValues:
      return ReadAfterValue(line);
    default:
      // Statistics. Dumped keys may have anything in them, so whatever is not the end goes on.
      return line == "END" ? Progress::kComplete : Progress::kMore;
  }
}

TextReplyFramer::Progress TextReplyFramer::ReadFirst(absl::string_view line) {
  reply_.code = CodeOf(line);
  if (reply_.code == ReplyCode::kError) reply_.error = KindOfError(line);
  switch (reply_.code) {
    case ReplyCode::kValues:
      return StartBlock(line, LengthInValue(line));
    case ReplyCode::kVa:
      ReadRepeated(line, &reply_);
      return StartBlock(line, std::strlen("VA "));
    case ReplyCode::kStats:
      state_ = State::kStats;
      return Progress::kMore;
    case ReplyCode::kHd:
    case ReplyCode::kEn:
    case ReplyCode::kNs:
    case ReplyCode::kEx:
    case ReplyCode::kNf:
      ReadRepeated(line, &reply_);
      return Progress::kComplete;
    default:
      return Progress::kComplete;
  }
}

TextReplyFramer::Progress TextReplyFramer::ReadAfterValue(absl::string_view line) {
  if (absl::StartsWith(line, "VALUE ")) return StartBlock(line, LengthInValue(line));
  if (line == "END") return Progress::kComplete;
  // memcached ran out of memory in the midst of the values.
  reply_.error = KindOfError(line);
  if (reply_.error == ErrorKind::kNone) return Progress::kOpaque;
  reply_.code = ReplyCode::kError;
  return Progress::kComplete;
}

// `length_at`: where in `line` the length stands.
TextReplyFramer::Progress TextReplyFramer::StartBlock(absl::string_view line, size_t length_at) {
  if (length_at > line.size()) return Progress::kOpaque;
  const std::optional<uint64_t> length = ReadLength(line.substr(length_at));
  if (!length) return Progress::kOpaque;
  block_ = DataBlock(*length + kBlockEnd);
  state_ = State::kBlock;
  return Progress::kMore;
}

TextReplyFramer::Progress TextReplyFramer::FinishBlock() {
  if (!block_.ends_well()) return Progress::kOpaque;
  if (reply_.code == ReplyCode::kVa) return Progress::kComplete;
  state_ = State::kValues;
  return Progress::kMore;
}

}  // namespace mcscope::protocol
