#include "tests/protocol/traffic.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mcscope::protocol {

std::string Traffic::OneOf(std::initializer_list<const char*> choices) {
  return choices.begin()[Below(choices.size())];
}

std::string Traffic::Key() {
  switch (Below(16)) {
    case 0:
      return std::string(250, 'k');
    case 1:
      return OneIn(6) ? std::string(251, 'k') : "k";
    case 2:
      return OneOf({"YQ==", "YWI=", "YWJj", "YQ", "====", "a\tb", "noreply", "0", "-"});
    default:
      return OneOf({"a", "b", "c", "n", "n", "number"});
  }
}

std::string Traffic::Number() {
  if (!OneIn(4)) return OneOf({"0", "0", "1", "2", "5", "100"});
  return OneOf({"-1",
                "+1",
                "x",
                "1x",
                "\t1",
                "1\t",
                "\t",
                "-",
                "noreply",
                "4294967296",
                "4294967297",
                "-4294967295",
                "2147483646",
                "9223372036854775807",
                "9223372036854775808",
                "18446744073709551615",
                "18446744073709551616",
                "-18446744073709551615",
                "00",
                "1-",
                "1\r",
                "0x1"});
}

// The length of a block of `size` bytes, seldom another.
std::string Traffic::Length(size_t size) {
  if (OneIn(12)) return Number();
  if (OneIn(12)) return absl::StrCat(size + 1 + Below(3));
  if (OneIn(12)) return absl::StrCat(size - std::min(size, 1 + Below(3)));
  if (OneIn(30)) return absl::StrCat(size + (uint64_t{1} << 32));
  return absl::StrCat(size);
}

std::string Traffic::MetaFlags() {
  std::string flags;
  const size_t count = OneIn(30) ? 15 + Below(10) : Below(6);
  for (size_t i = 0; i < count; ++i) {
    absl::StrAppend(&flags, " ");
    if (OneIn(3)) {
      absl::StrAppend(&flags, "q");
    } else if (OneIn(8)) {
      absl::StrAppend(&flags, OneOf({"x", "S1", "M", "MX", "MXX", "N", "Nx", "T\t", "C-1", "b",
                                     "\x80", "\x7f", "D", "J-5", "1", "Q", "noreply"}));
    } else {
      absl::StrAppend(&flags, OneOf({"k",    "v",    "c",  "f",    "h",   "l",  "s",  "t",  "u",
                                     "O123", "Oabc", "N0", "T100", "R30", "C1", "I",  "ME", "MA",
                                     "MI",   "M+",   "M-", "MS",   "J5",  "D2", "F7", "P1", "L2"}));
    }
  }
  return flags;
}

std::string Traffic::LineEnd() {
  if (!OneIn(15)) return "\r\n";
  return OneOf({"\n", "\r\r\n", " \r\n", "  noreply\r\n", "\t\r\n"});
}

std::string Traffic::Storage() {
  const std::string word =
      OneOf({"set", "set", "set", "add", "replace", "append", "prepend", "cas"});
  const size_t size = OneIn(200) ? 2000000 : Below(12);
  std::string line =
      absl::StrCat(word, " ", Key(), " ", Number(), " ", Number(), " ", Length(size));
  if (word == "cas" ? !OneIn(15) : OneIn(25)) absl::StrAppend(&line, " ", Number());
  if (OneIn(3)) absl::StrAppend(&line, " noreply");
  absl::StrAppend(&line, LineEnd(), std::string(size, static_cast<char>('0' + Below(10))));
  return line + (OneIn(12) ? OneOf({"", "\n", "x\r\n", "\r", "xy"}) : "\r\n");
}

std::string Traffic::Meta() {
  const std::string word =
      OneOf({"mg", "mg", "mg", "ms", "ms", "ms", "md", "ma", "ma", "me", "mn"});
  if (word == "mn") return "mn" + LineEnd();
  std::string line = absl::StrCat(word, " ", Key());
  if (word != "ms") return line + MetaFlags() + LineEnd();
  const size_t size = OneIn(200) ? 2000000 : Below(12);
  absl::StrAppend(&line, " ", Length(size), MetaFlags(), LineEnd(), std::string(size, '7'));
  return line + (OneIn(12) ? OneOf({"", "\n", "x\r\n", "\r", "xy"}) : "\r\n");
}

std::string Traffic::Fetch() {
  std::string line = OneOf({"get", "get", "get", "gets", "gat", "gats", "bget"});
  if (line[1] == 'a') absl::StrAppend(&line, " ", Number());
  const size_t count = OneIn(20) ? 20 + Below(30) : 1 + Below(3);
  for (size_t i = 0; i < count; ++i) absl::StrAppend(&line, OneIn(20) ? "  " : " ", Key());
  return line + LineEnd();
}

std::string Traffic::Change() {
  std::string line = OneOf({"delete", "incr", "decr", "touch"});
  absl::StrAppend(&line, " ", Key());
  if (line[0] == 'd' && line[2] == 'l' ? OneIn(4) : !OneIn(10))
    absl::StrAppend(&line, " ", Number());
  if (OneIn(3)) absl::StrAppend(&line, " noreply");
  return line + LineEnd();
}

// Nothing that would end or fill memcached, or make it talk on its own output.
std::string Traffic::Admin() {
  std::string line = OneOf({"version",
                            "verbosity 0",
                            "verbosity",
                            "flush_all",
                            "flush_all 0",
                            "flush_all x",
                            "stats",
                            "stats reset",
                            "stats detail dump",
                            "stats detail on",
                            "stats detail off",
                            "stats detail",
                            "stats cachedump 1 2",
                            "stats cachedump",
                            "stats items",
                            "stats slabs",
                            "stats bogus",
                            "stats settings",
                            "lru mode flat",
                            "lru mode segmented",
                            "lru tune 10 20 0.1 0.2",
                            "lru temp_ttl 5",
                            "lru bogus",
                            "lru_crawler crawl all",
                            "lru_crawler crawl 99",
                            "lru_crawler tocrawl 5",
                            "lru_crawler sleep 5",
                            "lru_crawler enable",
                            "lru_crawler bogus",
                            "slabs automove 0",
                            "slabs automove 1",
                            "slabs automove x",
                            "slabs reassign 1 2",
                            "slabs bogus",
                            "cache_memlimit 64",
                            "cache_memlimit 1",
                            "cache_memlimit x",
                            "cache_memlimit",
                            "misbehave",
                            "refresh_certs",
                            "watch bogus",
                            "shutdown",
                            "extstore item_age 5",
                            "extstore bogus",
                            "extstore",
                            "shutdown graceful x"});
  if (OneIn(4)) absl::StrAppend(&line, OneOf({" noreply", " x", " 0", " noreply x"}));
  return line + LineEnd();
}

std::string Traffic::AnyWords() {
  std::string line;
  const size_t count = OneIn(10) ? 20 + Below(8) : Below(6);
  for (size_t i = 0; i < count; ++i) {
    switch (Below(4)) {
      case 0:
        absl::StrAppend(&line, Key());
        break;
      case 1:
        absl::StrAppend(&line, Number());
        break;
      default:
        absl::StrAppend(
            &line, OneOf({"get", "set", "incr", "delete", "mg", "ms", "noreply", "hello", "GET",
                          "mm", "", "x", "lru", "slabs", "touch", "stats"}));
    }
    absl::StrAppend(&line, OneIn(6) ? "  " : " ");
  }
  return line + LineEnd();
}

std::string Traffic::Request() {
  switch (Below(20)) {
    case 0:
      return AnyWords();
    case 1:
    case 2:
      return Admin();
    case 3:
    case 4:
    case 5:
      return Change();
    case 6:
    case 7:
    case 8:
    case 9:
      return Fetch();
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
      return Storage();
    default:
      return Meta();
  }
}

void Traffic::Damage(std::string* bytes) {
  if (bytes->empty()) return;
  const size_t at = Below(std::min<size_t>(bytes->size(), 60));
  switch (Below(5)) {
    case 0:
      bytes->erase(at, 1 + Below(3));
      break;
    case 1:
      bytes->insert(at, OneOf({" ", "\r", "\n", "\r\n", "\t", "0", "k", " noreply"}));
      break;
    case 2:
      bytes->insert(at, 1, '\0');
      break;
    case 3:
      (*bytes)[at] = static_cast<char>(Below(256));
      break;
    default:
      bytes->insert(at, bytes->substr(at, 1 + Below(8)));
  }
}

std::string Traffic::Pipeline() {
  std::string pipeline;
  const size_t count = 1 + Below(12);
  for (size_t i = 0; i < count; ++i) {
    std::string request = Request();
    if (OneIn(12)) Damage(&request);
    pipeline += request;
  }
  return pipeline;
}

std::string Traffic::Value(const std::string& start) {
  const size_t size = OneIn(20) ? 3000 : Below(12);
  const std::string block(size, OneOf({"x", "\n", "\r", "E"})[0]);
  return absl::StrCat(start, size, OneOf({"", " 12", " k1 Oab", " kYQ== b"}), "\r\n", block,
                      "\r\n");
}

std::string Traffic::Reply() {
  std::string reply;
  switch (Below(8)) {
    case 0:
    case 1:
      for (size_t i = Below(4); i > 0; --i) reply += Value(absl::StrCat("VALUE ", Key(), " 0 "));
      return reply + OneOf({"END\r\n", "END\r\n", "END\n", "SERVER_ERROR out of memory\r\n"});
    case 2:
      return Value("VA ");
    case 3:
      for (size_t i = Below(5); i > 0; --i) {
        absl::StrAppend(&reply, OneOf({"STAT a b", "ITEM a [1 b; 0 s]", "PREFIX a get 1"}), "\r\n");
      }
      return reply + "END\r\n";
    case 4:
      return OneOf({"HD ka\nb O1\r\n", "HD k\r\n", "EN ka O12\r\n", "NF\r\n", "EX Oa\r\n", "HD\n",
                    "NS kYQ== b\r\n", "MN\r\n", "ME a exp=-1\r\n"});
    default:
      return OneOf({"STORED\r\n", "NOT_STORED\r\n", "EXISTS\r\n", "NOT_FOUND\r\n", "DELETED\r\n",
                    "TOUCHED\r\n", "OK\r\n", "RESET\r\n", "17\r\n", "VERSION 1.6.18\r\n",
                    "ERROR\r\n", "CLIENT_ERROR bad data chunk\r\n",
                    "SERVER_ERROR object too large for cache\r\n", "Error TLS not enabled\r\n",
                    "BUSY currently processing\r\n", "\r\n", "\n"});
  }
}

std::string Traffic::Replies() {
  std::string replies;
  const size_t count = 1 + Below(12);
  for (size_t i = 0; i < count; ++i) {
    std::string reply = Reply();
    if (OneIn(20)) Damage(&reply);
    replies += reply;
  }
  return replies;
}

Cuts Traffic::RandomCuts(size_t size, size_t most) {
  Cuts cuts;
  for (size_t i = Below(most + 1); i > 0; --i) cuts.push_back(Below(size + 1));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

}  // namespace mcscope::protocol
