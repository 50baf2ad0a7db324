// Bytes out = bytes in: each known trap, told to memcached directly and through the proxy, in all
// combinations of treatments. The tests' names carry the trap's number in the collection of cases.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/programs.h"
#include "tests/support/transparency_row.h"

namespace mcscope::test {
namespace {

using namespace std::string_literals;  // NOLINT: NUL bytes in the middle of requests

std::string Keys(int count) {
  std::string keys;
  for (int i = 0; i < count; ++i) absl::StrAppend(&keys, " key-", 100000 + i);
  return keys;
}

const std::string kLongKey(251, 'k');
const std::string kBig(2000000, 'v');
const std::string kSession =
    "set s 0 0 5\r\nhello\r\nget s\r\nadd s 0 0 1\r\n1\r\nappend s 0 0 1\r\n!\r\ngets s nokey\r\n"
    "incr s 1\r\nset n 7 0 2\r\n10\r\nincr n 5\r\ndecr n 1\r\ntouch n 0\r\ngat 0 n\r\ndelete n\r\n"
    "ms m 2 S4\r\nhi\r\nms m 2\r\nhi\r\nmg m v f s\r\nma m\r\nmd m q\r\nmn\r\nversion\r\nbogus\r\n";

class Transparency : public testing::TestWithParam<Row> {};

TEST_P(Transparency, SameBytesAndSameEndInEveryCombination) {
  ExpectSameInEveryCombination(kMcscope, GetParam());
}

std::string NameOf(const testing::TestParamInfo<Row>& info) { return info.param.name; }

// --- how many replies ---

const Row kFraming[] = {
    {"C1_LongKeyInSet",
     {Send("set " + kLongKey + " 0 0 5\r\n"), Await("format\r\n"), Send("hello\r\n"),
      Await("ERROR\r\n"), Send("version\r\n"), Await("\r\n")}},
    {"C1_LongKeyInMetaSet",
     {Send("ms " + kLongKey + " 5\r\n"), Await("\r\n"), Send("hello\r\n"), Pause(kGap),
      Send("version\r\n")}},
    {"C1_LongKeyInEveryStorageCommand",
     {Send("add " + kLongKey + " 0 0 1\r\n"), Await("\r\n"), Send("1\r\ncas " + kLongKey),
      Pause(kGap), Send(" 0 0 1 1\r\n"), Pause(kGap),
      Send("1\r\nappend " + kLongKey + " 0 0 1\r\n"), Pause(kGap), Send("1\r\nversion\r\n")}},
    {"C2_RefusedBeforeTheData",
     {Send("set a x 0 5\r\n"), Await("\r\n"), Send("hello\r\n"), Await("ERROR\r\n"),
      Send("version\r\n")}},
    {"C2_RefusedExptime",
     {Send("set a 0 x 5\r\n"), Await("\r\n"), Send("hello\r\n"), Await("ERROR\r\n")}},
    {"C2_RefusedLength",
     {Send("set a 0 0 5x\r\n"), Await("\r\n"), Send("hello\r\n"), Await("ERROR\r\n")}},
    {"C2_RefusedCasUnique",
     {Send("cas a 0 0 5 x\r\n"), Await("\r\n"), Send("hello\r\n"), Await("ERROR\r\n")}},
    {"C2_RefusedForTooFewWords",
     {Send("set a 0 5\r\n"), Await("\r\n"), Send("hello\r\n"), Await("ERROR\r\n")}},
    {"C2_RefusedForTooManyWords",
     {Send("set a 0 0 5 noreply extra\r\n"), Pause(kGap), Send("hello\r\nversion\r\n")}},
    {"C2_RefusedMetaFlag",
     {Send("ms a 5 Mx\r\n"), Pause(kGap), Send("hello\r\n"), Pause(kGap), Send("mn\r\n")}},
    {"C2_RefusedMetaLength",
     {Send("ms a x\r\n"), Await("\r\n"), Send("hello\r\n"), Await("ERROR\r\n"), Send("mn\r\n")}},
    {"C3_RefusedInSilence", {Send("set a x 0 5 noreply\r\nhello\r\nversion\r\n")}},
    {"C3_RefusedInSilenceInPieces",
     {Send("set a x 0 5 noreply\r\n"), Pause(kGap), Send("hello\r\n"), Await("ERROR\r\n"),
      Send("version\r\n")}},
    {"C4_TooLarge",
     {Send("set big 0 0 2000000\r\n"), Pause(kGap), Send(kBig), Pause(kGap), Send("\r\n"),
      Await("cache\r\n"), Send("version\r\n")}},
    {"C5_TooLargeInSilence",
     {Send("set big 0 0 2000000 noreply\r\n"), Pause(kGap), Send(kBig), Pause(kGap),
      Send("\r\nversion\r\n")}},
    {"C6_TooLargeThoughQuiet", {Send("ms big 2000000 q\r\n" + kBig + "\r\nmn\r\n")}},
    {"C8_NegativeLength", {Send("set a 0 0 -1\r\nversion\r\n")}},
    {"C8_HugeLengths",
     {Send("set a 0 0 4294967296\r\nversion\r\n"), Pause(kGap),
      Send("set a 0 0 2147483647\r\nversion\r\n"), Pause(kGap), HalfClose()}},
    {"C8_LengthAtTheEdgeOfInt",
     {Send("set a 0 0 2147483646\r\nversion\r\n"), Pause(kGap), HalfClose()}},
    {"C8_LengthThatWraps",
     {Send("set a 0 0 4294967297\r\n1\r\nversion\r\nget a\r\n"), Pause(kGap), HalfClose()}},
    {"C8_MetaLengthThatWraps",
     {Send("ms a 4294967297\r\n1\r\nmn\r\nmg a v\r\n"), Pause(kGap), HalfClose()}},
    {"C9_ValueTooLong", {Send("set a 0 0 3\r\nabcdef\r\nversion\r\n")}},
    {"C9_ValueTooLongInPieces",
     {Send("set a 0 0 3\r\n"), Pause(kGap), Send("abc"), Pause(kGap), Send("def\r\n"), Pause(kGap),
      Send("version\r\n")}},
    {"C10_ValueTooShort", {Send("set a 0 0 6\r\nabc\r\nversion\r\n")}},
    {"C11_QuietMetaSetTooLong", {Send("ms m 2 q\r\nhiho\r\nmn\r\n")}},
    {"C11_QuietMetaSetTooShort", {Send("ms m 9 q\r\nhiho\r\nmn\r\nmn\r\n")}},
    {"C12_OldMetaSyntax", {Send("ms m S2\r\nhi\r\nmn\r\n")}},
    {"C14_NulInKey", {Send("set a\0 0 0 1\r\na\r\nversion\r\n"s)}},
    {"C14_NulElsewhere",
     {Send("get a\0b\r\nversion\r\nver\0sion\r\n\0\r\nset a 0 0 1\0\r\n1\r\nget a\r\n"s)}},
    {"C15_EmptyValue", {Send("set z 5 0 0\r\n\r\nget z\r\nmg z v\r\n")}},
    {"C15_EmptyValueInPieces",
     {Send("set z 5 0 0\r\n"), Pause(kGap), Send("\r"), Pause(kGap), Send("\nget z"), Pause(kGap),
      Send("\r\nmg z v\r\n")}},
    {"C17_EmptyLines", {Send("get \r\nversion\r\n"), Pause(kGap), Send("get\r\n\r\n\n \r\n")}},
    {"C18_GetAndTouch",
     {Send("set g 0 0 1\r\n1\r\ngat\r\ngat 1\r\ngat 100 g nokey\r\ngats 100 g\r\ngat x g\r\n"
           "gats\r\ngat 0 g noreply\r\n")}},
    {"C20_ThousandKeys", Then(SentInPieces("get" + Keys(1000) + "\r\n", 2048, kGap),
                              {Await("END\r\n"), Send("version\r\n")})},
    {"C20_TenThousandKeys", Then(SentInPieces("get" + Keys(10000) + "\r\n", 16384, kGap),
                                 {Await("END\r\n"), Send("version\r\n")})},
    {"C20_ThousandKeysAtOnce", {Send("get" + Keys(1000) + "\r\nversion\r\n")}},
    {"C20_GetsOfThousandKeys", Then(SentInPieces("gets" + Keys(1000) + "\r\n", 2048, kGap),
                                    {Pause(kGap), Send("version\r\n")})},
    {"C20_GatOfThousandKeys", Then(SentInPieces("gat 0" + Keys(1000) + "\r\n", 2048, kGap),
                                   {Pause(kGap), Send("version\r\n")})},
    {"C20_GatOfThousandKeysAtOnce", {Send("gat 0" + Keys(1000) + "\r\nversion\r\n")}},
    {"C20_TabInKey",
     {Send("set a 0 0 1\r\n1\r\nget a\tb c a\r\nget\ta\r\nset a\tb 0 0 1\r\n2\r\n")}},
    {"C20_LongKeyInGet", {Send("get a " + kLongKey + " b\r\nversion\r\n")}},
    {"C20_LongKeyInGetDropsReplies", {Send("version\r\nget " + kLongKey + "\r\nversion\r\n")}},
    {"C20_LongKeyInMetaGet", {Send("version\r\nmg " + kLongKey + " v\r\nmn\r\n")}},
    {"C21_EndlessLine", {Send(std::string(3000, 'x'))}},
    {"C21_EndlessLineInPieces",
     {Send(std::string(1500, 'x')), Pause(kGap), Send(std::string(600, 'x')), Pause(kGap)}},
    {"C21_EndlessLineAfterOthers", {Send("version\r\n" + std::string(3000, 'x'))}},
    {"C21_LongLineWhole", {Send("version\r\n" + std::string(3000, 'x') + "\r\nversion\r\n")}},
    {"C21_LongLineInPieces",
     {Send(std::string(2000, 'x')), Pause(kGap), Send(std::string(1000, 'x') + "\r\nversion\r\n")}},
    {"C21_LongSetLine", {Send("set a 0 0 1 " + std::string(3000, ' ') + "\r\n1\r\nversion\r\n")}},
    {"C21_LineOf2048", {Send(std::string(2048, 'x')), Pause(kGap), Send("\r\nversion\r\n")}},
    {"C21_LineOf2047", {Send(std::string(2047, 'x')), Pause(kGap), Send("\r\nversion\r\n")}},
    {"C21_BlanksBeforeGet",
     {Send(std::string(1500, ' ') + "get a"), Pause(kGap), Send(std::string(1500, 'a') + "\r\n")}},
    {"C21_LongLineLooksLikeGet",
     {Send("getx " + std::string(1500, 'x')), Pause(kGap), Send(std::string(1500, 'x') + "\r\n")}},
    {"C23_WholeSessionAtOnce", {Send(kSession)}},
    {"C23_WholeSessionByteByByte", SentInPieces(kSession, 1, absl::ZeroDuration())},
    {"C23_WholeSessionInSevens", SentInPieces(kSession, 7, absl::Microseconds(500))},
    {"LineFeedAlone",
     {Send("set a 0 0 5\nhello\r\nget a\nversion\nmn\nset b 0 0 5\nhello\nget b\nversion\n\n")}},
    {"CarriageReturnsInside", {Send("get a\rb\r\nversion\r\r\nver\rsion\r\n\r\r\n")}},
    {"ErrorsInEveryShape",
     {Send("get\r\nset\r\nset a\r\nincr\r\nincr a\r\nincr a x\r\ndelete\r\ndelete a 0\r\n"
           "delete a 5\r\ndelete a 0 noreply\r\ntouch\r\ntouch a\r\ntouch a x\r\nmg\r\nms\r\n"
           "md\r\nma\r\nme\r\nme nope\r\nmn x\r\nmg a Z\r\nmz\r\nVERSION\r\nversion x\r\n")}},
    {"UpperCaseIsUnknown", {Send("SET a 0 0 1\r\n1\r\nGET a\r\nMN\r\n")}},
    {"WordsThatBeginLikeCommands", {Send("gett a\r\nsets a 0 0 1\r\n1\r\nmgx a\r\nversions\r\n")}},
    {"BlanksBeforeAndBehind",
     {Send("  set   a  0 0   5  \r\nhello\r\n get a\r\nget a  \r\n version \r\n mn\r\nmn \r\n")}},
    {"CasStates",
     {Send("set a 0 0 1\r\n1\r\ngets a\r\ncas a 0 0 1 999\r\n2\r\ncas nokey 0 0 1 1\r\n1\r\n"
           "cas a 0 0 1 2\r\n3\r\ncas a 0 0 1\r\n4\r\ncas a 0 0 1 2 noreply\r\n5\r\nget a\r\n")}},
    {"MetaInEveryShape",
     {Send(
         "ms a 2 T0 F5 I O123 k q\r\nhi\r\nmg a k f v s t c O1 q\r\nmg a\r\nmg b\r\nmg b k O2\r\n"
         "ms YQ== 2 b\r\nho\r\nmg YQ== b k v\r\nmd a q\r\nmd a q\r\nmd a I T30\r\nma n N0 J5 v\r\n"
         "ma n D2 v\r\nma n q\r\nma n MD v\r\nms a 2 ME\r\nxx\r\nms a 2 MX\r\nxx\r\nmn\r\n")}},
    {"MetaSetInPieces",
     {Send("ms a 10"), Pause(kGap), Send(" T0\r\n"), Pause(kGap), Send("01234"), Pause(kGap),
      Send("56789\r"), Pause(kGap), Send("\nmg a v"), Pause(kGap), Send("\r\n")}},
    {"ValueFullOfCommands",
     {Send("set a 0 0 25\r\nget a\r\nversion\r\nquit\r\nEND\r\n\r\nget a\r\n")}},
    {"ValueOfNewlines",
     {Send("set a 0 0 4\r\n\r\n\r\n\r\nget a\r\nset b 0 0 2\r\n\n\n\r\nget b\r\n")}},
    {"LargeValue", {Send("set a 0 0 300000\r\n" + std::string(300000, 'v') + "\r\nget a\r\n")}},
    {"LargeValueInPieces",
     Then(SentInPieces("set a 0 0 300000\r\n" + std::string(300000, 'v') + "\r\n", 50000, kGap),
          {Await("STORED\r\n"), Send("get a\r\n")})},
    {"RepliesWithheldWhileAValueIsIncomplete",
     {Send("version\r\nset a 0 0 10\r\nabc"), Pause(kGap), Send("defghij\r\nget a\r\n")}},
    {"RepliesWithheldAreLostAtTheEnd", {Send("version\r\nset a 0 0 10\r\nabc"), HalfClose()}},
    {"RepliesWithheldAreLostLater",
     {Send("version\r\nset a 0 0 10\r\nabc"), Pause(kGap), Send("def"), Pause(kGap), HalfClose()}},
    {"TheReplyOfASplitSetDoesNotWaitForTheNextSet",
     {Send("set a 0 0 10\r\nabc"), Pause(kGap), Send("defghij\r\nset b 0 0 10\r\nxyz"),
      Await("STORED\r\n"), Send("0123456\r\n"), Await("STORED\r\n"), Send("get a b\r\n")}},
    {"TheReplyOfASplitSetDoesNotWaitForTheNextValue",
     {Send("set a 0 0 10\r\n"), Pause(kGap), Send("abcdefghij\r"), Pause(kGap),
      Send("\nget a\r\nms b 10\r\n"), Await("END\r\n"), Send("0123456789\r\n"), Await("HD\r\n")}},
    {"TheReplyOfASplitSetIsNotLostInAHalfClose",
     {Send("set a 0 0 10\r\nabc"), Pause(kGap), Send("defghij\r\nset b 0 0 10\r\nxyz"), Pause(kGap),
      HalfClose()}},
    {"TheReplyOfASplitSetIsNotLostInAHalfCloseAtOnce",
     {Send("set a 0 0 10\r\nabc"), Pause(kGap), Send("defghij\r\nset b 0 0 10\r\nxyz"),
      HalfClose()}},
    {"TheReplyOfALineBeginningEarlierMayBeWithheld",
     {Send("vers"), Pause(kGap), Send("ion\r\nset b 0 0 10\r\nxyz"), Pause(kGap), HalfClose()}},
    {"WhatIsWholeBehindASplitSet",
     {Send("set a 0 0 10\r\nabc"), Pause(kGap),
      Send("defghij\r\nversion\r\nset c 0 0 1\r\nc\r\nset b 0 0 10\r\nxyz"), Pause(kGap),
      HalfClose()}},
    {"RepliesBeforeAnIncompleteLine", {Send("version\r\nget a"), Pause(kGap), HalfClose()}},
};
INSTANTIATE_TEST_SUITE_P(Framing, Transparency, testing::ValuesIn(kFraming), NameOf);

// --- quiet, noreply, pipelines ---

const Row kPipelines[] = {
    {"C24_SilentDelete",
     {Send("set K 0 0 1\r\nx\r\ndelete K noreply\r\nget K\r\ndelete zz 0 noreply\r\nversion\r\n")}},
    {"C24_SilentIncrementOfText",
     {Send(
         "set K 0 0 1\r\nx\r\nincr K 1 noreply\r\nget K\r\nincr nokey 1 noreply\r\nversion\r\n")}},
    {"C24_NoreplyInTheWrongPlace",
     {Send("incr a noreply\r\ntouch a noreply\r\ndelete noreply\r\nget a noreply\r\n"
           "set noreply\r\nset a 0 0 noreply\r\nversion noreply\r\nversion\r\n")}},
    {"C25_QuietErrorsComeBack",
     {Send("ms m 2 q ME\r\nhi\r\nms m 2 q C1\r\nhi\r\nmn\r\nms m 2 q\r\nhi\r\nms m 2 q "
           "C1\r\nhi\r\nmn\r\n")}},
    {"C26_QuietMissesOnly", {Send(Repeated(500, "mg nokey v q k\r\n") + "mn\r\n")}},
    {"C26_QuietHits",
     {Send("ms m 2\r\nhi\r\n"), Await("HD\r\n"),
      Send(Repeated(250, "mg m v q k\r\nmg nokey v q\r\n") + "mn\r\n")}},
    {"C28_OrderInOnePacket", {Send("set k 0 0 1\r\n1\r\nget k\r\ndelete k\r\nget k\r\n")}},
    {"C32_SilentSets",
     {Send(Repeated(5000, "set k 0 0 1 noreply\r\n1\r\n") + "get k\r\n"), Await("END\r\n")}},
    {"QuietEverything",
     {Send("ms a 1 q\r\n1\r\nmd a q\r\nmd a q\r\nma n q\r\nma n q N0\r\nma n q\r\nmg n q\r\nmg n q "
           "v\r\n"
           "mg nokey q O5\r\nmn\r\nms a 1 q I MA\r\n1\r\nmn\r\n")}},
    {"EveryNoreply",
     {Send(
         "set a 0 0 1 noreply\r\n1\r\nadd a 0 0 1 noreply\r\n1\r\nreplace a 0 0 1 noreply\r\n1\r\n"
         "append a 0 0 1 noreply\r\n1\r\nprepend a 0 0 1 noreply\r\n1\r\nincr a 1 noreply\r\n"
         "decr a 1 noreply\r\ntouch a 0 noreply\r\ncas a 0 0 1 1 noreply\r\n1\r\nget a\r\n"
         "delete a noreply\r\nflush_all noreply\r\nverbosity 0 noreply\r\nversion\r\n")}},
    {"DeepPipelineOfGets",
     {Send("set a 0 0 1000\r\n" + std::string(1000, 'v') + "\r\n"), Await("STORED\r\n"),
      Send(Repeated(1000, "get a nokey\r\n"))}},
    {"PipelineOfBadLines", {Send(Repeated(300, "bogus\r\n") + Repeated(300, "set a\r\n"))}},
};
INSTANTIATE_TEST_SUITE_P(Pipelines, Transparency, testing::ValuesIn(kPipelines), NameOf);

// --- a connection's life ---

const Row kConnections[] = {
    {"C34_HalfCloseAfterRequests", {Send("set h 0 0 1\r\n1\r\nget h\r\n"), HalfClose()}},
    {"C34_HalfCloseAfterALargeGet",
     {Send("set h 0 0 900000\r\n" + std::string(900000, 'h') + "\r\n"), Await("STORED\r\n"),
      Send(Repeated(20, "get h\r\n")), HalfClose()}},
    {"C35_HalfCloseInMidValue", {Send("set h 0 0 10\r\nabc"), HalfClose()}},
    {"C35_HalfCloseInMidLine", {Send("set h 0"), Pause(kGap), HalfClose()}},
    {"C35_HalfCloseBeforeAnything", {HalfClose()}},
    {"C44_Quit", {Send("version\r\nquit\r\nversion\r\n")}},
    {"C44_QuitAlone", {Send("quit\r\n")}},
    {"C44_QuitWithWords", {Send("quit noreply\r\nversion\r\nquit now\r\n")}},
    {"C45_ShutdownNotAllowed", {Send("shutdown\r\nshutdown graceful\r\nversion\r\n")}},
    {"C59_Tls",
     {Send("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n"s), Pause(kGap), Send("version\r\n")}},
    {"C59_TextThenBinary",
     {Send("version\r\n\x80\x0b"s + std::string(22, '\0') + "\r\nversion\r\n")}},
};
INSTANTIATE_TEST_SUITE_P(Connections, Transparency, testing::ValuesIn(kConnections), NameOf);

// --- streams and administration ---

const std::string kTwoItems = "set a 0 0 1\r\n1\r\nset bb 0 0 2\r\n22\r\nget a\r\n";

const Row kAdministration[] = {
    {"C46_Watch",
     {Send("watch fetchers mutations\r\n"), Await("OK\r\n"), Pause(kGap), Send("version\r\n")},
     MaskStatistics},
    {"C46_WatchNothingKnown", {Send("watch bogus\r\nversion\r\n")}},
    {"C47_Metadump",
     {Send(kTwoItems), Await("END\r\n"), Pause(absl::Milliseconds(100)),
      Send("lru_crawler metadump all\r\n"), Await("END\r\n"), Send("version\r\n")},
     MaskStatistics},
    {"C47_MetadumpHash",
     {Send(kTwoItems), Await("END\r\n"), Pause(absl::Milliseconds(100)),
      Send("lru_crawler metadump hash\r\n"), Pause(kGap), Send("version\r\n")},
     MaskStatistics},
    {"C47_MgdumpIsUnknown",
     {Send("lru_crawler mgdump all\r\nlru_crawler\r\nlru_crawler bogus\r\nversion\r\n")}},
    {"C50_Stats",
     {Send(kTwoItems + "stats\r\n"), Await("END\r\n"), Send("version\r\n")},
     MaskStatistics},
    {"C50_StatsOfEveryKind",
     {Send(kTwoItems +
           "stats settings\r\nstats items\r\nstats slabs\r\nstats sizes\r\n"
           "stats cachedump 5 2\r\nstats reset\r\nstats bogus\r\nstats detail on\r\nget a\r\n"
           "stats detail dump\r\nstats detail off\r\nstats detail\r\nstats "
           "cachedump\r\nversion\r\n"),
      Await("\r\n")},
     MaskStatistics},
    {"C51_Administration",
     {Send("flush_all\r\nflush_all 0 noreply\r\nflush_all abc\r\nverbosity\r\nverbosity 1\r\n"
           "verbosity 0 noreply\r\ncache_memlimit 32\r\nlru mode flat\r\nslabs automove 0\r\n"
           "version\r\n")}},
    {"C51_MoreAdministration",
     {Send(
         "lru\r\nlru bogus\r\nlru tune 10 20 0.1 2.0\r\nlru temp_ttl 5\r\nslabs\r\nslabs bogus\r\n"
         "slabs reassign 1 2\r\nslabs automove 9\r\ncache_memlimit\r\ncache_memlimit x\r\n"
         "cache_memlimit 1\r\nflush_all 0\r\nflush_all noreply\r\nmisbehave\r\nversion\r\n")}},
    {"C52_OddErrorLines",
     {Send("refresh_certs\r\nshutdown\r\nlru_crawler enable\r\nlru_crawler disable\r\n"
           "lru_crawler sleep 100\r\nlru_crawler tocrawl "
           "5\r\nversion\r\n")}},
    {"C56_OpaqueOnMiss", {Send("mg nope k Oabc v\r\nmg nope k Oabc q v\r\nmn\r\n")}},
};
INSTANTIATE_TEST_SUITE_P(Administration, Transparency, testing::ValuesIn(kAdministration), NameOf);

}  // namespace
}  // namespace mcscope::test
