// Bytes out = bytes in, for the binary protocol: each known trap, told to memcached directly and
// through the proxy, in all combinations of treatments.
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/programs.h"
#include "tests/support/binary_packet.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/transparency_row.h"

namespace mcscope::test {
namespace {

using namespace std::string_literals;  // NOLINT: NUL bytes in the middle of requests

const std::string kLongKey(251, 'k');
const std::string kBig(2000000, 'v');
const std::string kVersionThen = Binary(kOpVersion);
const std::string kRandomBytes = "\0\xff\r\n\x80q"s;

// The same shape as `request`, but with a byte of extras too many.
std::string Refused(uint8_t opcode) {
  BinaryPacket packet;
  packet.opcode = opcode;
  packet.extras = "e";
  packet.key = "a";
  packet.value = "value";
  return packet.Bytes();
}

std::string CasSet(uint64_t cas) {
  BinaryPacket packet;
  packet.opcode = kOpSet;
  packet.extras = std::string(8, '\0');
  packet.key = "a";
  packet.value = "swapped";
  packet.cas = cas;
  return packet.Bytes();
}

const std::string kBinarySession =
    Binary(kOpSet, "a", "hello", 1) + Binary(kOpGet, "a", "", 2) + Binary(kOpAdd, "a", "1", 3) +
    Binary(kOpAppend, "a", "!", 4) + Binary(kOpPrepend, "a", "\r\n", 5) +
    Binary(kOpGetK, "a", "", 6) + CasSet(77) + CasSet(3) + Binary(kOpReplace, "none", "x") +
    Binary(kOpIncrement, "n") + Binary(kOpIncrement, "n") + Binary(kOpDecrement, "n") +
    Binary(kOpIncrement, "a") + Binary(kOpTouch, "n") + Binary(kOpGat, "n") + Binary(kOpGatK, "n") +
    Binary(kOpGat, "none") + Binary(kOpGatK, "none") + Binary(kOpDelete, "n") +
    Binary(kOpDelete, "n") + Binary(kOpVerbosity) + Binary(0x70, "", "unknown") + Binary(kOpFlush) +
    Binary(kOpGet, "a") + Binary(kOpVersion) + Binary(kOpNoop, "", "", 9);

const std::string kQuietSession =
    Binary(kOpSetQ, "a", "hello") + Binary(kOpAddQ, "a", "1") + Binary(kOpReplaceQ, "none", "1") +
    Binary(kOpAppendQ, "a", "!") + Binary(kOpPrependQ, "none", "!") + Binary(kOpGetQ, "a") +
    Binary(kOpGetQ, "none") + Binary(kOpGetKQ, "a") + Binary(kOpGetKQ, "none") +
    Binary(kOpGatQ, "a") + Binary(kOpGatKQ, "a") + Binary(kOpGatKQ, "none") +
    Binary(kOpIncrementQ, "n") + Binary(kOpIncrementQ, "a") + Binary(kOpDecrementQ, "n") +
    Binary(kOpDeleteQ, "none") + Binary(kOpDeleteQ, "n") + Binary(kOpFlushQ) + Binary(kOpNoop);

const Row kBinaryRows[] = {
    {"C31_QuietThenNoop",
     {Send(Binary(kOpGetKQ, "none")), Pause(kGap), Send(Binary(kOpNoop)),
      Await(Binary(kOpNoop).substr(2))}},
    {"C44_BinaryQuit", {Send(kVersionThen + Binary(kOpQuit) + Binary(kOpVersion))}},
    {"C44_BinaryQuitQ", {Send(kVersionThen + Binary(kOpQuitQ) + Binary(kOpVersion))}},
    {"C44_BinaryQuitInPieces", SentInPieces(Binary(kOpQuit), 5, kGap)},
    {"C50_BinaryStat",
     {Send(Binary(kOpSet, "a", "1")), Pause(kGap), Send(Binary(kOpStat)), Pause(kGap),
      Send(Binary(kOpNoop))},
     MaskBinaryStatistics},
    {"C50_BinaryStatOfEveryKind",
     {Send(Binary(kOpSet, "a", "1") + Binary(kOpStat, "settings") + Binary(kOpStat, "items") +
           Binary(kOpStat, "slabs") + Binary(kOpStat, "sizes") + Binary(kOpStat, "conns") +
           Binary(kOpStat, "reset") + Binary(kOpStat, "bogus") + Binary(kOpStat, "detail on") +
           Binary(kOpGet, "a") + Binary(kOpStat, "detail dump") + Binary(kOpStat, "detail off") +
           Binary(kOpStat, "detail") + Binary(kOpNoop))},
     MaskBinaryStatistics},
    {"C54_SaslList", {Send(Binary(kOpSaslList) + Binary(kOpNoop))}},
    {"C54_SaslAuthWithAnyBytes",
     {Send(Binary(kOpSaslAuth, "PLAIN", kRandomBytes) + Binary(kOpSaslStep, "PLAIN", kRandomBytes) +
           Binary(kOpNoop))}},
    {"C54_SaslAuthInPieces",
     SentInPieces(Binary(kOpSaslAuth, "PLAIN", kRandomBytes) + Binary(kOpNoop), 3, kGap)},
    {"C59_Binary", {Send(kBinarySession)}},
    {"C59_BinaryByteByByte",
     Then(SentInPieces(kBinarySession, 1, absl::ZeroDuration()), {HalfClose()})},
    {"C59_BinaryInPieces", Then(SentInPieces(kBinarySession, 37, kGap), {HalfClose()})},
    {"C59_BinaryQuiet", {Send(kQuietSession)}},
    {"C59_BinaryQuietInPieces", Then(SentInPieces(kQuietSession, 29, kGap), {HalfClose()})},
    {"C59_BinaryTooLarge",
     {Send(Binary(kOpSet, "big", kBig) + Binary(kOpSetQ, "big", kBig) + Binary(kOpNoop))}},
    {"C59_BinaryRefusedBeforeTheValue",
     {Send(kVersionThen + Refused(kOpSet).substr(0, 24 + 2)), Await("Invalid arguments")}},
    {"C59_BinaryRefused", {Send(kVersionThen + Refused(kOpGetQ))}},
    {"C59_BinaryLongKey", {Send(kVersionThen + Binary(kOpGet, kLongKey))}},
    {"C59_BinaryBadMagic", {Send(kVersionThen), Pause(kGap), Send(std::string(24, 'x'))}},
    // memcached buffers extras and key with what follows them; only a value it reads apart.
    {"WhatFollowsARequestWhoseKeyWasSplitIsReadWithIt",
     {Send(Binary(kOpGetK, "abc").substr(0, 25)), Pause(kGap),
      Send(Binary(kOpGetK, "abc").substr(25) + Binary(kOpAdd, "a", "hello").substr(0, 35)),
      Pause(kGap), HalfClose()}},
    {"WhatFollowsARequestWhoseExtrasWereSplitIsReadWithIt",
     {Send(Binary(kOpIncrement, "n").substr(0, 30)), Pause(kGap),
      Send(Binary(kOpIncrement, "n").substr(30) + std::string(24, '\0'))}},
    {"WhatFollowsASplitValueIsReadApart",
     {Send(Binary(kOpSet, "a", "hello").substr(0, 35)), Pause(kGap),
      Send(Binary(kOpSet, "a", "hello").substr(35) + Binary(kOpAdd, "b", "hello").substr(0, 35)),
      Pause(kGap), HalfClose()}},
    {"C59_BinaryHalfCloseInMidValue",
     {Send(kVersionThen + Binary(kOpSet, "a", "hello").substr(0, 30)), HalfClose()}},
    {"C59_TextInsteadOfBinary", {Send(kVersionThen), Pause(kGap), Send("version\r\n")}},
};
class BinaryTransparency : public testing::TestWithParam<Row> {};

TEST_P(BinaryTransparency, SameBytesAndSameEndInEveryCombination) {
  ExpectSameInEveryCombination(kMcscope, GetParam());
}

std::string NameOf(const testing::TestParamInfo<Row>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(BinaryProtocol, BinaryTransparency, testing::ValuesIn(kBinaryRows),
                         NameOf);

TEST(BinaryMetrics, BinaryRequestsAreCountedLikeThoseOfText) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  TcpClient client(proxy.endpoint());
  BinaryPacket end;
  end.magic = 0x81;
  end.opcode = kOpNoop;
  end.opaque = 99;
  client.Ask(Binary(kOpSet, "a", "1") + Binary(kOpSetQ, "b", "2") + Binary(kOpGetKQ, "a") +
                 Binary(kOpGetKQ, "none") + Binary(kOpGetK, "none") + Binary(kOpStat) +
                 Binary(kOpSaslList) + CasSet(5555) + Binary(kOpNoop, "", "", 99),
             end.Bytes());
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {{"command", "noop"}}, 1));
  const Exposition metrics = proxy.Metrics();
  const auto count = [&](const char* command, const char* result) {
    return metrics.Sum("mcscope_requests_total", {{"command", command}, {"result", result}});
  };
  EXPECT_EQ(count("set", "stored"), 1);
  EXPECT_EQ(count("set", "none"), 1);
  EXPECT_EQ(count("get", "hit"), 1);
  EXPECT_EQ(count("get", "none"), 1);
  EXPECT_EQ(count("get", "miss"), 1);
  EXPECT_EQ(count("stats", "ok"), 1);
  EXPECT_EQ(count("sasl", "error"), 1);
  EXPECT_EQ(count("cas", "exists"), 1);
  EXPECT_EQ(count("noop", "ok"), 1);
  EXPECT_EQ(metrics.Sum("mcscope_tunnels_total"), 0);
}

}  // namespace
}  // namespace mcscope::test
