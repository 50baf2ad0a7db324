// The heart of the matter: what the framer says a stream's requests are, and which get a reply, is
// what the installed memcached makes of them.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/protocol/judge.h"
#include "tests/protocol/request_cases.h"
#include "tests/protocol/traffic.h"

namespace mcscope::protocol {
namespace {

TEST(DriftTest, EachCaseIsAnsweredAsForetold) {
  Judge judge;
  for (const RequestCase& c : RequestCases()) {
    SCOPED_TRACE(c.name);
    for (const auto& request : c.requests) judge.OneByOne(request.first);
  }
}

TEST(DriftTest, EachCaseIsAnsweredAsForetoldInAPipeline) {
  Judge judge;
  for (const RequestCase& c : RequestCases()) {
    SCOPED_TRACE(c.name);
    std::string stream;
    for (const auto& request : c.requests) stream += request.first;
    judge.AsPipeline(stream, {});
  }
}

TEST(DriftTest, MemcachedIsSilentUntilAHoldableRequestIsWhole) {
  Judge judge;
  for (const RequestCase& c : RequestCases()) {
    SCOPED_TRACE(c.name);
    for (const auto& request : c.requests) {
      for (size_t cut = 1; cut < request.first.size(); ++cut) {
        judge.InTwo(request.first, cut);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(DriftTest, MemcachedIsSilentInLongFetches) {
  Judge judge;
  std::string keys;
  for (int i = 0; i < 10000; ++i) absl::StrAppend(&keys, " key_", 10000 + i);
  for (const std::string& start :
       {std::string("get"), std::string("gets"), Times(' ', 100) + "get"}) {
    for (const std::string& end : {std::string("\r\n"), " " + Times('k', 251) + "\r\n"}) {
      const std::string line = absl::StrCat(start, keys, end);
      for (const size_t cut : {size_t{2047}, size_t{2048}, size_t{2049}, size_t{16384},
                               size_t{50000}, line.size() - 2, line.size() - 1}) {
        judge.InTwo(line, cut);
      }
    }
  }
}

TEST(DriftTest, LongFetchesWithoutAKeyAreAnsweredAsForetold) {
  Judge judge;
  const std::string spaces = Times(' ', 3000);
  const std::string nul(1, '\0');
  for (const std::string& line :
       {"get" + spaces, "gets" + spaces, "get" + spaces + "\r", "get " + nul + Times('k', 3000),
        "gat 1" + spaces, "gat 1" + nul + spaces, "gats " + nul + spaces}) {
    judge.OneByOne(line + "\r\n");
  }
}

TEST(DriftTest, MemcachedIsSilentInLargeBlocks) {
  Judge judge;
  for (const char* line : {"set big 0 0 2000000\r\n", "set big 0 0 2000000 noreply\r\n",
                           "ms big 2000000 q\r\n", "ms big 2000000 q MX\r\n"}) {
    for (const char* end : {"\r\n", "xy"}) {
      const std::string request = absl::StrCat(line, Times('x', 2'000'000), end);
      for (const size_t cut : {std::strlen(line), std::strlen(line) + 100'000, request.size() - 2,
                               request.size() - 1}) {
        judge.InTwo(request, cut);
      }
    }
  }
  for (const char* end : {"\r\n", "xy"}) {
    judge.InTwo(absl::StrCat("set big 0 0 700000\r\n", Times('x', 700'000), end), 100'000);
  }
}

// Pipelines that have broken other proxies.
TEST(DriftTest, KnownPitfallsAreAnsweredAsForetold) {
  const std::string long_key = Times('k', 251);
  std::string quiet = "ms hit 2\r\nhi\r\n";
  for (int i = 0; i < 500; ++i) {
    absl::StrAppend(&quiet, "mg ", i % 7 == 0 ? "hit" : "miss", " v q k O", i, "\r\n");
  }
  std::string silent;
  for (int i = 0; i < 5000; ++i) silent += "set k 0 0 1 noreply\r\n1\r\n";
  const std::vector<std::string> streams = {
      "set " + long_key + " 0 0 5\r\nhello\r\nversion\r\n",
      "ms " + long_key + " 5\r\nhello\r\nversion\r\n",
      "set a x 0 5\r\nhello\r\nversion\r\n",
      "set a x 0 5 noreply\r\nhello\r\nversion\r\n",
      absl::StrCat("set big 0 0 2000000\r\n", Times('x', 2'000'000), "\r\nversion\r\n"),
      absl::StrCat("set big 0 0 2000000 noreply\r\n", Times('x', 2'000'000), "\r\nversion\r\n"),
      absl::StrCat("ms big 2000000 q\r\n", Times('x', 2'000'000), "\r\nmn\r\n"),
      "set a 0 0 -1\r\nversion\r\n",
      "set a 0 0 3\r\nabcdef\r\nversion\r\n",
      "set a 0 0 6\r\nabc\r\nversion\r\n",
      "ms m 2 q\r\nhiho\r\nmn\r\n",
      "ms m S2\r\nhi\r\nmn\r\n",
      absl::StrCat("set a", std::string(1, '\0'), " 0 0 1\r\na\r\nversion\r\n"),
      "set z 5 0 0\r\n\r\nget z\r\nmg z v\r\n",
      "get \r\nversion\r\nget\r\n\r\n",
      "set g 0 0 1\r\n1\r\ngat\r\ngat 1\r\ngat 100 g nokey\r\ngats 100 g\r\n",
      "delete K noreply\r\nget K\r\ndelete zz 0 noreply\r\n",
      "set K 0 0 1\r\nx\r\nincr K 1 noreply\r\nincr K 1\r\n",
      "ms m 2 q ME\r\nhi\r\nms m 2 q C1\r\nhi\r\nmn\r\n",
      quiet + "mn\r\n",
      "set k 0 0 1\r\n1\r\nget k\r\ndelete k\r\nget k\r\n",
      silent + "get k\r\n",
      "version\r\nquit\r\nversion\r\n",
      absl::StrCat("shutdown\r\nstats\r\nstats settings\r\nstats items\r\nstats cachedump 1 2\r\n",
                   "stats reset\r\nstats bogus\r\nstats detail dump\r\nstats detail on\r\n",
                   "get a:b\r\nstats detail dump\r\n"),
      absl::StrCat("flush_all\r\nflush_all 0 noreply\r\nflush_all abc\r\nverbosity\r\n",
                   "verbosity 1\r\nverbosity 0 noreply\r\ncache_memlimit 32\r\nlru mode flat\r\n",
                   "slabs automove 0\r\n"),
      "lru_crawler enable\r\nrefresh_certs\r\nrefresh_certs noreply\r\nmg nope k Oabc v\r\n",
      "mg YQpi b N30 k\r\nmg YQpi b k\r\nmg YQpi b k v q\r\nma YQpi b k q\r\n",
      "version\r\nset n 0 0 1\r\n1\r\nget n " + long_key + "\r\nversion\r\n",
  };
  Judge judge;
  for (const std::string& stream : streams) {
    judge.OneByOne(stream);
    judge.AsPipeline(stream, {});
    judge.AsPipeline(stream, {stream.size() / 3, stream.size() / 2});
  }
  EXPECT_EQ(judge.unsure(), 0);
}

// With --gtest_random_seed=N the tests below meet other traffic; without it, always the same.
uint64_t Seed(int number) {
  return static_cast<uint64_t>(testing::GTEST_FLAG(random_seed)) * 1'000'000 + number;
}

TEST(DriftTest, RandomRequestsAreAnsweredAsForetold) {
  Judge judge;
  for (int number = 0; number < 3000; ++number) {
    SCOPED_TRACE(absl::StrCat("seed ", Seed(number)));
    Traffic traffic(Seed(number));
    judge.OneByOne(traffic.Pipeline());
    if (HasFailure()) return;
  }
}

TEST(DriftTest, RandomPipelinesArePaired) {
  Judge judge;
  for (int number = 0; number < 6000; ++number) {
    SCOPED_TRACE(absl::StrCat("seed ", Seed(number)));
    Traffic traffic(Seed(number));
    const std::string stream = traffic.Pipeline();
    judge.AsPipeline(stream, traffic.RandomCuts(stream.size(), 4));
    if (HasFailure()) return;
  }
  // Each of these costs its user the metrics of a session. This traffic is full of quiet requests
  // that do not ask for a name in their replies, next to others of their kind.
  EXPECT_LT(judge.unsure() * 10, judge.pipelines()) << judge.unsure();
}

}  // namespace
}  // namespace mcscope::protocol
