#include "protocol/command.h"

#include <array>
#include <initializer_list>

namespace mcscope::protocol {
namespace {

constexpr uint16_t Mask(std::initializer_list<Result> results) {
  uint16_t mask = 0;
  for (const Result result : results) mask |= uint16_t{1} << static_cast<int>(result);
  return mask;
}

// Any request may meet an error line, or the end of its connection.
constexpr uint16_t kAny = Mask({Result::kError, Result::kAborted});
constexpr uint16_t kFetch = kAny | Mask({Result::kHit, Result::kMiss});
// Of text only mg can be quiet; of binary also get and gat.
constexpr uint16_t kQuietFetch = kFetch | Mask({Result::kNone});
constexpr uint16_t kStore = kAny | Mask({Result::kStored, Result::kNotStored, Result::kExists,
                                         Result::kNotFound, Result::kNone});
constexpr uint16_t kChange = kAny | Mask({Result::kOk, Result::kNotFound, Result::kNone});
// With a cas id, or a value to begin with.
constexpr uint16_t kGuardedChange = kChange | Mask({Result::kExists, Result::kNotStored});
constexpr uint16_t kAdmin = kAny | Mask({Result::kOk, Result::kNone});
constexpr uint16_t kAsk = kAny | Mask({Result::kOk});
constexpr uint16_t kNoAnswer = kAny | Mask({Result::kNone});

constexpr std::array<CommandInfo, kCommandCount> kTable = {{
    {Command::kGet, "get", RequestShape::kLine, false, kQuietFetch},
    {Command::kGets, "gets", RequestShape::kLine, false, kFetch},
    {Command::kGat, "gat", RequestShape::kLine, false, kQuietFetch},
    {Command::kGats, "gats", RequestShape::kLine, false, kFetch},
    {Command::kSet, "set", RequestShape::kBlock, false, kStore},
    {Command::kAdd, "add", RequestShape::kBlock, false, kStore},
    {Command::kReplace, "replace", RequestShape::kBlock, false, kStore},
    {Command::kAppend, "append", RequestShape::kBlock, false, kStore},
    {Command::kPrepend, "prepend", RequestShape::kBlock, false, kStore},
    {Command::kCas, "cas", RequestShape::kBlock, false, kStore},
    {Command::kDelete, "delete", RequestShape::kLine, false, kGuardedChange},
    {Command::kIncr, "incr", RequestShape::kLine, false, kGuardedChange},
    {Command::kDecr, "decr", RequestShape::kLine, false, kGuardedChange},
    {Command::kTouch, "touch", RequestShape::kLine, false, kChange},
    {Command::kMg, "mg", RequestShape::kLine, true, kQuietFetch},
    {Command::kMs, "ms", RequestShape::kBlock, true, kStore},
    {Command::kMd, "md", RequestShape::kLine, true, kGuardedChange},
    {Command::kMa, "ma", RequestShape::kLine, true, kGuardedChange},
    {Command::kMn, "mn", RequestShape::kLine, true, kAsk},
    {Command::kMe, "me", RequestShape::kLine, true, kFetch},
    {Command::kFlushAll, "flush_all", RequestShape::kLine, false, kAdmin},
    {Command::kVersion, "version", RequestShape::kLine, false, kAsk},
    {Command::kVerbosity, "verbosity", RequestShape::kLine, false, kAdmin},
    {Command::kQuit, "quit", RequestShape::kLine, false, kAdmin},
    {Command::kShutdown, "shutdown", RequestShape::kLine, false, kAny},
    {Command::kStats, "stats", RequestShape::kLine, false, kAsk},
    {Command::kLru, "lru", RequestShape::kLine, false, kAdmin},
    {Command::kLruCrawler, "lru_crawler", RequestShape::kLine, false, kAsk},
    {Command::kSlabs, "slabs", RequestShape::kLine, false, kAdmin},
    {Command::kCacheMemlimit, "cache_memlimit", RequestShape::kLine, false, kAdmin},
    {Command::kWatch, "watch", RequestShape::kLine, false, kNoAnswer},
    {Command::kMisbehave, "misbehave", RequestShape::kLine, false, kAdmin},
    {Command::kRefreshCerts, "refresh_certs", RequestShape::kLine, false, kAdmin},
    {Command::kNoop, "noop", RequestShape::kLine, false, kAsk},
    {Command::kSasl, "sasl", RequestShape::kLine, false, kAsk},
    {Command::kOther, "other", RequestShape::kLine, false, kAdmin},
}};

constexpr bool TableIsInOrder() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<size_t>(kTable[i].command) != i) return false;
  }
  return true;
}
static_assert(TableIsInOrder(), "a row's place is its command's number");

constexpr std::array<absl::string_view, kResultCount> kResultNames = {
    "hit", "miss", "stored", "not_stored", "exists", "not_found", "ok", "error", "none", "aborted"};

// `command` if `word`, whose length is known to fit, is its name.
Command IfNamed(Command command, absl::string_view word) {
  return word == kTable[static_cast<size_t>(command)].name ? command : Command::kOther;
}

Command FindMeta(absl::string_view word) {
  if (word[0] != 'm') return Command::kOther;
  switch (word[1]) {
    case 'g':
      return Command::kMg;
    case 's':
      return Command::kMs;
    case 'd':
      return Command::kMd;
    case 'a':
      return Command::kMa;
    case 'n':
      return Command::kMn;
    case 'e':
      return Command::kMe;
    default:
      return Command::kOther;
  }
}

Command FindOfThree(absl::string_view word) {
  switch (word[0]) {
    case 'g':
      return word[1] == 'e' ? IfNamed(Command::kGet, word) : IfNamed(Command::kGat, word);
    case 's':
      return IfNamed(Command::kSet, word);
    case 'a':
      return IfNamed(Command::kAdd, word);
    case 'c':
      return IfNamed(Command::kCas, word);
    case 'l':
      return IfNamed(Command::kLru, word);
    default:
      return Command::kOther;
  }
}

Command FindOfFour(absl::string_view word) {
  switch (word[0]) {
    case 'g':
      return word[1] == 'e' ? IfNamed(Command::kGets, word) : IfNamed(Command::kGats, word);
    case 'i':
      return IfNamed(Command::kIncr, word);
    case 'd':
      return IfNamed(Command::kDecr, word);
    case 'q':
      return IfNamed(Command::kQuit, word);
    case 'b':
      // An ancient alias that memcached still serves.
      return word == "bget" ? Command::kGet : Command::kOther;
    default:
      return Command::kOther;
  }
}

Command FindOfFive(absl::string_view word) {
  switch (word[1]) {
    case 'o':
      return IfNamed(Command::kTouch, word);
    case 't':
      return IfNamed(Command::kStats, word);
    case 'l':
      return IfNamed(Command::kSlabs, word);
    case 'a':
      return IfNamed(Command::kWatch, word);
    default:
      return Command::kOther;
  }
}

Command FindOfNine(absl::string_view word) {
  switch (word[0]) {
    case 'f':
      return IfNamed(Command::kFlushAll, word);
    case 'v':
      return IfNamed(Command::kVerbosity, word);
    default:
      return IfNamed(Command::kMisbehave, word);
  }
}

}  // namespace

const CommandInfo& Info(Command command) { return kTable[static_cast<size_t>(command)]; }

Command FindCommand(absl::string_view word) {
  switch (word.size()) {
    case 2:
      return FindMeta(word);
    case 3:
      return FindOfThree(word);
    case 4:
      return FindOfFour(word);
    case 5:
      return FindOfFive(word);
    case 6:
      return word[0] == 'd' ? IfNamed(Command::kDelete, word) : IfNamed(Command::kAppend, word);
    case 7:
      return word[0] == 'v'   ? IfNamed(Command::kVersion, word)
             : word[0] == 'r' ? IfNamed(Command::kReplace, word)
                              : IfNamed(Command::kPrepend, word);
    case 8:
      return IfNamed(Command::kShutdown, word);
    case 9:
      return FindOfNine(word);
    case 11:
      return IfNamed(Command::kLruCrawler, word);
    case 13:
      return IfNamed(Command::kRefreshCerts, word);
    case 14:
      return IfNamed(Command::kCacheMemlimit, word);
    default:
      return Command::kOther;
  }
}

absl::string_view Name(Result result) { return kResultNames[static_cast<size_t>(result)]; }

}  // namespace mcscope::protocol
