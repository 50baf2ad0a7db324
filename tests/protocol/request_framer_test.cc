#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/protocol/framing.h"
#include "tests/protocol/request_cases.h"
#include "tests/support/binary_packet.h"

namespace mcscope::protocol {
namespace {

std::string StreamOf(const RequestCase& c) {
  std::string stream;
  for (const auto& request : c.requests) stream += request.first;
  return stream;
}

std::string ExpectedOf(const RequestCase& c) {
  std::string expected;
  for (const auto& request : c.requests) {
    absl::StrAppend(&expected, request.second, " <", Escape(request.first), ">\n");
  }
  return expected;
}

class RequestFramerCases : public testing::TestWithParam<RequestCase> {};

TEST_P(RequestFramerCases, AreFramedWhole) {
  EXPECT_EQ(Describe(FrameRequests(StreamOf(GetParam()))), ExpectedOf(GetParam()));
}

TEST_P(RequestFramerCases, AreFramedByteByByte) {
  const std::string stream = StreamOf(GetParam());
  EXPECT_EQ(Describe(FrameRequests(stream, EveryByte(stream.size()))), ExpectedOf(GetParam()));
}

TEST_P(RequestFramerCases, AreFramedWhereverTheyAreSplit) {
  const std::string stream = StreamOf(GetParam());
  const std::string expected = ExpectedOf(GetParam());
  for (size_t cut = 1; cut < stream.size(); ++cut) {
    ASSERT_EQ(Describe(FrameRequests(stream, {cut})), expected) << "split at " << cut;
  }
}

TEST_P(RequestFramerCases, AreFramedAloneAndWithBytesBehind) {
  for (const auto& request : GetParam().requests) {
    // A connection that begins with such a byte is of another dialect.
    const bool deceptive = GetParam().dialect == Dialect::kText && request.first[0] == '\x80';
    const std::string first = deceptive ? "mn\r\n" : "";
    for (const char* behind : {"", "g", "set b 0 0 100\r\nx", "\x80\x0b"}) {
      const Framed<Request> framed = FrameRequests(first + request.first + behind);
      ASSERT_EQ(framed.frames.size(), first.empty() ? 1u : 2u) << Escape(request.first);
      EXPECT_EQ(Describe(framed.frames.back().content), request.second) << Escape(request.first);
      EXPECT_EQ(framed.frames.back().bytes, request.first);
      EXPECT_EQ(framed.rest, behind);
    }
  }
}

std::string NameOf(const testing::TestParamInfo<RequestCase>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, RequestFramerCases, testing::ValuesIn(RequestCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Binary, RequestFramerCases, testing::ValuesIn(BinaryRequestCases()),
                         NameOf);

// --- streams that can not be framed ---

void ExpectOpaque(const std::string& stream, OpaqueReason reason, size_t frames_before = 0) {
  std::vector<Cuts> chunkings = {{}, EveryByte(stream.size())};
  if (stream.size() < 300) {
    for (size_t cut = 1; cut < stream.size(); ++cut) chunkings.push_back({cut});
  }
  for (const Cuts& cuts : chunkings) {
    const Framed<Request> framed = FrameRequests(stream, cuts);
    EXPECT_TRUE(framed.opaque) << Escape(stream);
    EXPECT_EQ(Name(framed.reason), Name(reason)) << Escape(stream);
    EXPECT_EQ(framed.frames.size(), frames_before) << Escape(stream);
    EXPECT_EQ(framed.Joined(), stream);
  }
}

TEST(RequestFramerTest, AForeignFirstByteIsOpaque) {
  ExpectOpaque("\x16\x03\x01", OpaqueReason::kTls);
}

TEST(RequestFramerTest, TheFirstByteOfLaterRequestsSaysNothing) {
  EXPECT_EQ(FrameRequests("mn\r\n\x80\r\n\x16\r\n").frames.size(), 3u);
}

TEST(RequestFramerTest, EveryBinaryRequestBeginsWithTheMagicByte) {
  const std::string noop = test::Binary(test::kOpNoop);
  for (const std::string& next : {std::string("mn\r\n"), std::string("\x81"), Times('\0', 30)}) {
    ExpectOpaque(noop + noop + next + noop, OpaqueReason::kBadMagic, 2);
  }
}

// memcached swallows as many bytes as some other connection left unread: no telling which.
TEST(RequestFramerTest, BinaryValuesOfTwoGibibytesAreOpaque) {
  for (const uint8_t opcode : {test::kOpSet, test::kOpAppend, test::kOpSaslAuth}) {
    test::BinaryPacket packet;
    packet.opcode = opcode;
    packet.extras = std::string(test::BinaryExtras(opcode), '\0');
    packet.key = "a";
    for (const uint32_t size : {2147483648u, 4294967200u}) {
      packet.body_size = static_cast<uint32_t>(packet.extras.size()) + 1 + size;
      ExpectOpaque(test::Binary(test::kOpNoop) + packet.Bytes(), OpaqueReason::kUnsure, 1);
    }
    packet.body_size = static_cast<uint32_t>(packet.extras.size()) + 1 + 2147483647u;
    EXPECT_FALSE(FrameRequests(packet.Bytes() + "x").opaque);
  }
}

TEST(RequestFramerTest, WatchingIsOpaqueUnlessItsArgumentsAreBad) {
  ExpectOpaque("mn\r\nwatch\r\nmn\r\n", OpaqueReason::kWatch, 1);
  ExpectOpaque("watch fetchers mutations\r\n", OpaqueReason::kWatch);
  for (const char* log : {"rawcmds", "evictions", "fetchers", "mutations", "sysevents",
                          "connevents", "proxyreqs", "proxyevents", "proxyuser"}) {
    ExpectOpaque(absl::StrCat("watch ", log, "\n"), OpaqueReason::kWatch);
  }
}

TEST(RequestFramerTest, DumpsAreOpaque) {
  ExpectOpaque("lru_crawler metadump all\r\n", OpaqueReason::kMetadump);
  ExpectOpaque("mn\r\nlru_crawler mgdump hash\r\nmn\r\n", OpaqueReason::kMetadump, 1);
}

TEST(RequestFramerTest, LinesLongerThanMemcachedReadsAreOpaque) {
  ExpectOpaque(Times('x', 3000), OpaqueReason::kLongLine);
  ExpectOpaque(Times('x', 2049) + "\n", OpaqueReason::kLongLine);
  ExpectOpaque("mn\r\ndelete " + Times(' ', 2100) + "a\r\n", OpaqueReason::kLongLine, 1);
  ExpectOpaque("set a 0 0 2 " + Times('x', 2100) + "\r\nhi\r\n", OpaqueReason::kLongLine);
  ExpectOpaque("bget " + Times('x', 2100) + "\r\n", OpaqueReason::kLongLine);
  ExpectOpaque(Times(' ', 2100) + "get a\r\n", OpaqueReason::kLongLine);
  ExpectOpaque("gat " + Times('1', 2100) + " a\r\n", OpaqueReason::kLongLine);
}

TEST(RequestFramerTest, TheLongestOrdinaryLineIsFramed) {
  const std::string line = Times('x', 2048) + "\n";
  for (const Cuts& cuts : {Cuts{}, EveryByte(line.size()), Cuts{2048}}) {
    EXPECT_EQ(Describe(FrameRequests(line, cuts)), "other always refused <" + Escape(line) + ">\n");
  }
}

// --- fetches of many keys ---

std::string FetchOf(const std::string& start, size_t keys, const std::string& extra = "") {
  std::string line = start;
  for (size_t i = 0; i < keys; ++i) absl::StrAppend(&line, " key_", 10000 + i);
  return line + extra + "\r\n";
}

void ExpectFetch(const std::string& line, const std::string& expected) {
  const std::string stream = line + "mn\r\n";
  const std::string description =
      absl::StrCat(expected, " <", Escape(line), ">\nmn always <mn\\r\\n>\n");
  std::vector<Cuts> chunkings = {{}, EveryByte(stream.size())};
  for (const size_t size : {2047, 2048, 2049, 2050, 16384}) {
    Cuts cuts;
    for (size_t cut = size; cut < stream.size(); cut += size) cuts.push_back(cut);
    chunkings.push_back(cuts);
  }
  for (size_t back = 1; back < 12; ++back) chunkings.push_back({stream.size() - back});
  for (const Cuts& cuts : chunkings) {
    ASSERT_EQ(Describe(FrameRequests(stream, cuts)), description) << expected;
  }
}

TEST(RequestFramerTest, FetchesHaveNoLongestLine) {
  ExpectFetch(FetchOf("get", 10000), "get always");
  ExpectFetch(FetchOf("gets", 1000), "gets always");
  ExpectFetch(FetchOf("gat 10", 1000), "gat always");
  ExpectFetch(FetchOf("gats x", 1000), "gats always refused");
  ExpectFetch(FetchOf(Times(' ', 120) + "get", 1000), "get always");
}

TEST(RequestFramerTest, OneLongKeyAmongManyIsNoticed) {
  const std::string longest = " " + Times('k', 250);
  const std::string too_long = " " + Times('k', 251);
  ExpectFetch(FetchOf("get", 1000, longest), "get always");
  ExpectFetch(FetchOf("get", 1000, too_long), "get always refused drops");
  ExpectFetch(FetchOf("get", 1000, too_long + " a"), "get always refused drops");
  ExpectFetch(FetchOf("gats 10", 1000, too_long + " a"), "gats always refused drops");
  ExpectFetch(FetchOf("get", 1000, std::string(1, '\0') + too_long), "get always");
  ExpectFetch(FetchOf("gat x", 1000, too_long), "gat always refused");
  ExpectFetch(FetchOf("get" + longest + too_long, 1000), "get always refused drops");
}

TEST(RequestFramerTest, ALongLineWithoutAKeyIsRefused) {
  const std::string spaces = Times(' ', 3000);
  const std::string nul(1, '\0');
  ExpectFetch("get" + spaces + "\r\n", "get always refused");
  ExpectFetch("gets" + spaces + "\r\n", "gets always refused");
  ExpectFetch("get" + spaces + "\r\r\n", "get always");
  ExpectFetch("get " + nul + Times('k', 3000) + "\r\n", "get always refused");
  ExpectFetch("gat 1" + spaces + "\r\n", "gat always");
  ExpectFetch("gat 1" + nul + spaces + "\r\n", "gat always");
  ExpectFetch("gats " + nul + spaces + "\r\n", "gats always refused");
}

// --- what the framer says in the midst of a request ---

RequestFramer After(absl::string_view bytes) {
  RequestFramer framer;
  EXPECT_EQ(framer.Next(bytes).kind, StepKind::kPartial);
  return framer;
}

TEST(RequestFramerTest, CountsTheMissingBytesOfABlock) {
  EXPECT_EQ(After("set a 0 0 5\r\n").missing(), 7u);
  EXPECT_EQ(After("set a 0 0 5\r\nhello").missing(), 2u);
  EXPECT_EQ(After("set a 0 0 5\r\nhello\r").missing(), 1u);
  EXPECT_EQ(After("ms a 2147483645\r\nhello").missing(), 2147483642u);
  EXPECT_EQ(After("set a 0 0 5").missing(), 0u);
  EXPECT_EQ(RequestFramer().missing(), 0u);
}

TEST(RequestFramerTest, WhatMemcachedWaitsForInSilenceIsHoldable) {
  EXPECT_TRUE(After("set a 0 0 5\r\nhel").holdable());
  EXPECT_TRUE(After("set a 0 0 2000000\r\nhel").holdable());
  EXPECT_TRUE(After("ms a 5 q MX\r\n").holdable());
  EXPECT_TRUE(After("g").holdable());
  EXPECT_TRUE(After(Times('x', 2048)).holdable());
  EXPECT_TRUE(After("get " + Times('x', 5000)).holdable());
  EXPECT_TRUE(After("gets " + Times('x', 5000)).holdable());
  EXPECT_TRUE(After(Times(' ', 100) + "get " + Times('x', 5000)).holdable());
}

TEST(RequestFramerTest, WhatMemcachedMayRefuseWhenItComesInPiecesIsNotHoldable) {
  EXPECT_FALSE(After("gat 10 " + Times('x', 5000)).holdable());
  EXPECT_FALSE(After(Times(' ', 101) + "get " + Times('x', 5000)).holdable());
}

// memcached buffers the extras and the key with the header; only of a value it reads exactly the
// bytes.
TEST(RequestFramerTest, CountsTheMissingBytesOfABinaryValue) {
  const std::string set = test::Binary(test::kOpSet, "a", "hello");
  EXPECT_EQ(After(set.substr(0, 23)).missing(), 0u);
  EXPECT_EQ(After(set.substr(0, 24)).missing(), 0u);
  EXPECT_EQ(After(set.substr(0, 32)).missing(), 0u);
  EXPECT_EQ(After(set.substr(0, 33)).missing(), 5u);
  EXPECT_EQ(After(set.substr(0, 37)).missing(), 1u);
  EXPECT_EQ(After(set.substr(0, 23)).command(), Command::kOther);
  EXPECT_EQ(After(set.substr(0, 24)).command(), Command::kSet);
  test::BinaryPacket huge;
  huge.opcode = test::kOpSet;
  huge.extras = Times('\0', 8);
  huge.key = "a";
  huge.body_size = 9 + 2147483647u;
  EXPECT_EQ(After(huge.Bytes()).missing(), 2147483647u);
}

TEST(RequestFramerTest, BinaryRequestsAreHoldableUnlessTheirHeaderIsRefused) {
  EXPECT_TRUE(After("\x80").holdable());
  EXPECT_TRUE(After(test::Binary(test::kOpSet, "a", "hello").substr(0, 24)).holdable());
  EXPECT_TRUE(
      After(test::Binary(test::kOpSetQ, "a", Times('x', 2'000'000)).substr(0, 999)).holdable());
  EXPECT_TRUE(After(test::Binary(test::kOpVerbosity, "", "hello").substr(0, 24)).holdable());
  EXPECT_FALSE(After(test::Binary(test::kOpSet, "", "hello").substr(0, 24)).holdable());
  EXPECT_FALSE(After(test::Binary(test::kOpGet, "a", "hello").substr(0, 24)).holdable());
  EXPECT_FALSE(After(test::Binary(test::kOpGet, Times('k', 251)).substr(0, 24)).holdable());
  EXPECT_FALSE(After(test::Binary(0x70, Times('k', 251)).substr(0, 24)).holdable());
  EXPECT_FALSE(After(test::Binary(test::kOpGet, Times('k', 20'000)).substr(0, 24)).holdable());
}

TEST(RequestFramerTest, ABinaryRequestWithoutAnAnswerHasACommandThatCanGoWithoutOne) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    for (const size_t key : {size_t{1}, BinaryRequestFramer::kMaxHead}) {
      // memcached skips more than their body behind opcodes that it does not know.
      const std::string request =
          test::Binary(static_cast<uint8_t>(opcode), Times('k', key)) + Times('k', key);
      RequestFramer framer;
      const RequestStep step = framer.Next(request);
      ASSERT_EQ(step.kind, StepKind::kComplete);
      if (step.request.answer == Answer::kAlways) continue;
      EXPECT_TRUE(Info(step.request.command).results >> static_cast<int>(Result::kNone) & 1)
          << opcode << " " << Info(step.request.command).name;
    }
  }
}

TEST(RequestFramerTest, AnIdleConnectionCostsFewBytes) {
  EXPECT_LE(sizeof(RequestFramer), 64u);
  EXPECT_LE(sizeof(ReplyFramer), 64u);
}

TEST(RequestFramerTest, ACopyInMidstGoesOnByItself) {
  RequestFramer moved = After("set a 0 0 5\r\nhel");
  RequestFramer framer = std::move(moved);
  const RequestStep step = framer.Next("lo\r\nmn\r\n");
  EXPECT_EQ(step.kind, StepKind::kComplete);
  EXPECT_EQ(step.used, 4u);
}

}  // namespace
}  // namespace mcscope::protocol
