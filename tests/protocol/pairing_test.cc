#include "protocol/pairing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/protocol/framing.h"
#include "tests/protocol/request_cases.h"
#include "tests/support/binary_packet.h"

namespace mcscope::protocol {
namespace {

Request RequestOf(const std::string& bytes) {
  const Framed<Request> framed = FrameRequests(bytes);
  EXPECT_EQ(framed.frames.size(), 1u) << bytes;
  return framed.frames[0].content;
}

Reply ReplyOf(const std::string& bytes) {
  const Framed<Reply> framed = FrameReplies(bytes);
  EXPECT_EQ(framed.frames.size(), 1u) << bytes;
  return framed.frames[0].content;
}

std::string ResultName(const std::string& request, const std::string& reply) {
  if (!CanAnswer(RequestOf(request), ReplyOf(reply))) return "-";
  return std::string(Name(ResultOf(RequestOf(request), ReplyOf(reply))));
}

TEST(ResultTest, FollowsFromTheReply) {
  EXPECT_EQ(ResultName("get a\r\n", "END\r\n"), "miss");
  EXPECT_EQ(ResultName("gats 1 a\r\n", "VALUE a 0 1 2\r\nx\r\nEND\r\n"), "hit");
  EXPECT_EQ(ResultName("set a 0 0 1\r\nx\r\n", "STORED\r\n"), "stored");
  EXPECT_EQ(ResultName("add a 0 0 1\r\nx\r\n", "NOT_STORED\r\n"), "not_stored");
  EXPECT_EQ(ResultName("cas a 0 0 1 5\r\nx\r\n", "EXISTS\r\n"), "exists");
  EXPECT_EQ(ResultName("cas a 0 0 1 5\r\nx\r\n", "NOT_FOUND\r\n"), "not_found");
  EXPECT_EQ(ResultName("set a 0 0 1\r\nxyz", "CLIENT_ERROR bad data chunk\r\n"), "error");
  EXPECT_EQ(ResultName("incr a 1\r\n", "17\r\n"), "ok");
  EXPECT_EQ(ResultName("decr a 1\r\n", "NOT_FOUND\r\n"), "not_found");
  EXPECT_EQ(ResultName("delete a\r\n", "DELETED\r\n"), "ok");
  EXPECT_EQ(ResultName("touch a 0\r\n", "TOUCHED\r\n"), "ok");
  EXPECT_EQ(ResultName("mg a\r\n", "HD\r\n"), "hit");
  EXPECT_EQ(ResultName("mg a v\r\n", "VA 1\r\nx\r\n"), "hit");
  EXPECT_EQ(ResultName("mg a\r\n", "EN\r\n"), "miss");
  EXPECT_EQ(ResultName("ms a 1\r\nx\r\n", "HD\r\n"), "stored");
  EXPECT_EQ(ResultName("ms a 1\r\nx\r\n", "NS\r\n"), "not_stored");
  EXPECT_EQ(ResultName("ms a 1\r\nx\r\n", "EX\r\n"), "exists");
  EXPECT_EQ(ResultName("ms a 1\r\nx\r\n", "NF\r\n"), "not_found");
  EXPECT_EQ(ResultName("md a\r\n", "HD\r\n"), "ok");
  EXPECT_EQ(ResultName("ma a v\r\n", "VA 1\r\n5\r\n"), "ok");
  EXPECT_EQ(ResultName("me a\r\n", "ME a exp=-1\r\n"), "hit");
  EXPECT_EQ(ResultName("mn\r\n", "MN\r\n"), "ok");
  EXPECT_EQ(ResultName("stats\r\n", "STAT a b\r\nEND\r\n"), "ok");
  EXPECT_EQ(ResultName("stats detail dump\r\n", "END\r\n"), "ok");
  EXPECT_EQ(ResultName("stats reset\r\n", "RESET\r\n"), "ok");
  EXPECT_EQ(ResultName("version\r\n", "VERSION 1.6.18\r\n"), "ok");
  EXPECT_EQ(ResultName("lru_crawler crawl all\r\n", "BUSY currently processing\r\n"), "error");
  EXPECT_EQ(ResultName("hello\r\n", "ERROR\r\n"), "error");
}

TEST(ResultTest, RepliesOfAnotherKindAnswerNothing) {
  EXPECT_EQ(ResultName("get a\r\n", "STORED\r\n"), "-");
  EXPECT_EQ(ResultName("set a 0 0 1\r\nx\r\n", "END\r\n"), "-");
  EXPECT_EQ(ResultName("version\r\n", "MN\r\n"), "-");
  EXPECT_EQ(ResultName("mn\r\n", "EN\r\n"), "-");
  EXPECT_EQ(ResultName("hello\r\n", "VERSION 1\r\n"), "-");
  EXPECT_EQ(ResultName("watch bogus\r\n", "OK\r\n"), "-");
  EXPECT_EQ(ResultName("delete a noreply\r\n", "DELETED\r\n"), "-");
}

TEST(ResultTest, OnlyWhatBreaksItsSilenceAnswersAQuietRequest) {
  EXPECT_EQ(ResultName("mg a q\r\n", "HD\r\n"), "hit");
  EXPECT_EQ(ResultName("mg a q\r\n", "EN\r\n"), "-");
  EXPECT_EQ(ResultName("ms a 1 q\r\nx\r\n", "HD\r\n"), "-");
  EXPECT_EQ(ResultName("ms a 1 q\r\nx\r\n", "NS\r\n"), "not_stored");
  EXPECT_EQ(ResultName("ms a 1 q\r\nx\r\n", "CLIENT_ERROR bad\r\n"), "-");
  EXPECT_EQ(ResultName("ms a 1 q\r\nxyz", "CLIENT_ERROR bad data chunk\r\n"), "error");
  EXPECT_EQ(ResultName("ms a 1 q\r\nx\r\n", "SERVER_ERROR object too large\r\n"), "error");
  EXPECT_EQ(ResultName("md a q\r\n", "NF\r\n"), "not_found");
  EXPECT_EQ(ResultName("md a q\r\n", "HD\r\n"), "-");
  EXPECT_EQ(ResultName("ma a q\r\n", "VA 1\r\n5\r\n"), "-");
  EXPECT_EQ(ResultName("ma a q N0\r\n", "HD\r\n"), "ok");
  EXPECT_EQ(ResultName("ma a q\r\n", "CLIENT_ERROR cannot increment\r\n"), "error");
  EXPECT_EQ(ResultName("ma a q\r\n", "ERROR\r\n"), "-");
}

// --- binary ---

using namespace test;  // NOLINT: the opcodes

// The reply to `Binary(opcode, key, "", opaque)`.
std::string Replied(uint8_t opcode, uint16_t status, uint32_t opaque = 0,
                    const std::string& key = "") {
  BinaryPacket packet;
  packet.magic = kBinaryReplyMagic;
  packet.opcode = opcode;
  packet.status = status;
  packet.opaque = opaque;
  packet.key = key;
  return packet.Bytes();
}

std::string BinaryResult(uint8_t opcode, uint16_t status) {
  const BinaryShape shape = FindOpcode(opcode).shape;
  const bool bare =
      shape == BinaryShape::kBare || shape == BinaryShape::kFlush || shape == BinaryShape::kUnknown;
  return ResultName(Binary(opcode, bare ? "" : "a"), Replied(opcode, status));
}

TEST(BinaryResultTest, FollowsFromTheReply) {
  EXPECT_EQ(BinaryResult(kOpGet, 0), "hit");
  EXPECT_EQ(BinaryResult(kOpGetK, 1), "miss");
  EXPECT_EQ(BinaryResult(kOpGat, 0), "hit");
  EXPECT_EQ(BinaryResult(kOpGatK, 1), "miss");
  EXPECT_EQ(BinaryResult(kOpTouch, 0), "ok");
  EXPECT_EQ(BinaryResult(kOpTouch, 1), "not_found");
  EXPECT_EQ(BinaryResult(kOpSet, 0), "stored");
  EXPECT_EQ(BinaryResult(kOpSet, 2), "exists");
  EXPECT_EQ(BinaryResult(kOpSet, 3), "error");
  EXPECT_EQ(BinaryResult(kOpAdd, 2), "not_stored");
  EXPECT_EQ(BinaryResult(kOpReplace, 1), "not_stored");
  EXPECT_EQ(BinaryResult(kOpAppend, 5), "not_stored");
  EXPECT_EQ(BinaryResult(kOpDelete, 0), "ok");
  EXPECT_EQ(BinaryResult(kOpDelete, 2), "exists");
  EXPECT_EQ(BinaryResult(kOpIncrement, 0), "ok");
  EXPECT_EQ(BinaryResult(kOpDecrement, 1), "not_found");
  EXPECT_EQ(BinaryResult(kOpIncrement, 6), "error");
  EXPECT_EQ(BinaryResult(kOpNoop, 0), "ok");
  EXPECT_EQ(BinaryResult(kOpVersion, 0), "ok");
  EXPECT_EQ(BinaryResult(kOpStat, 0), "ok");
  EXPECT_EQ(BinaryResult(kOpStat, 1), "error");
  EXPECT_EQ(BinaryResult(kOpFlush, 0), "ok");
  EXPECT_EQ(BinaryResult(kOpQuit, 0), "ok");
  EXPECT_EQ(BinaryResult(kOpSaslList, 0x81), "error");
  EXPECT_EQ(BinaryResult(kOpSaslAuth, 0x21), "ok");
  EXPECT_EQ(BinaryResult(0x70, 0x81), "error");
}

TEST(BinaryResultTest, OnlyWhatBreaksItsSilenceAnswersAQuietRequest) {
  EXPECT_EQ(BinaryResult(kOpGetQ, 0), "hit");
  EXPECT_EQ(BinaryResult(kOpGetQ, 1), "-");
  EXPECT_EQ(BinaryResult(kOpGatKQ, 0), "hit");
  EXPECT_EQ(BinaryResult(kOpGatKQ, 1), "-");
  EXPECT_EQ(BinaryResult(kOpSetQ, 0), "-");
  EXPECT_EQ(BinaryResult(kOpSetQ, 3), "error");
  EXPECT_EQ(BinaryResult(kOpAddQ, 2), "not_stored");
  EXPECT_EQ(BinaryResult(kOpDeleteQ, 0), "-");
  EXPECT_EQ(BinaryResult(kOpDeleteQ, 1), "not_found");
  EXPECT_EQ(BinaryResult(kOpIncrementQ, 0), "-");
  EXPECT_EQ(BinaryResult(kOpIncrementQ, 6), "error");
  EXPECT_EQ(BinaryResult(kOpFlushQ, 0), "-");
  EXPECT_EQ(BinaryResult(kOpQuitQ, 0), "-");
}

TEST(BinaryResultTest, AnotherOpcodeOpaqueOrDialectAnswersNothing) {
  EXPECT_EQ(ResultName(Binary(kOpGet, "a", "", 5), Replied(kOpGet, 0, 5)), "hit");
  EXPECT_EQ(ResultName(Binary(kOpGet, "a", "", 5), Replied(kOpGet, 0, 6)), "-");
  EXPECT_EQ(ResultName(Binary(kOpGet, "a"), Replied(kOpGetQ, 0)), "-");
  EXPECT_EQ(ResultName(Binary(kOpGetK, "a"), Replied(kOpGetK, 0, 0, "b")), "-");
  EXPECT_EQ(ResultName(Binary(kOpGet, "a"), "END\r\n"), "-");
  EXPECT_EQ(ResultName("get a\r\n", Replied(kOpGet, 0)), "-");
}

// --- which of several ---

// "answers 2", "nobody" or "unsure".
std::string Paired(const std::vector<std::string>& requests, const std::string& reply) {
  std::vector<Request> queue;
  queue.reserve(requests.size());
  for (const std::string& request : requests) queue.push_back(RequestOf(request));
  const Pairing pairing = FindAnswered(ReplyOf(reply), queue.size(),
                                       [&](size_t i) -> const Request& { return queue[i]; });
  switch (pairing.kind) {
    case Pairing::Kind::kAnswers:
      return absl::StrCat("answers ", pairing.index);
    case Pairing::Kind::kNobody:
      return "nobody";
    case Pairing::Kind::kUnsure:
      return "unsure";
  }
  return "";
}

TEST(PairingTest, TheOldestThatIsSureOfAReplyGetsIt) {
  EXPECT_EQ(Paired({"get a\r\n", "get b\r\n"}, "END\r\n"), "answers 0");
  EXPECT_EQ(Paired({"get a\r\n", "version\r\n"}, "VERSION 1\r\n"), "nobody");
  EXPECT_EQ(Paired({}, "END\r\n"), "nobody");
}

TEST(PairingTest, ThoseThatGetNoneAreSkipped) {
  EXPECT_EQ(Paired({"delete a noreply\r\n", "mg a q\r\n", "md a q\r\n", "mn\r\n"}, "MN\r\n"),
            "answers 3");
  EXPECT_EQ(Paired({"mg a q\r\n"}, "MN\r\n"), "nobody");
}

TEST(PairingTest, OpaqueAndKeyTellQuietRequestsApart) {
  const std::vector<std::string> requests = {"mg a q k\r\n", "mg b q k\r\n", "mg c q O1\r\n",
                                             "mg d q O2\r\n", "mn\r\n"};
  EXPECT_EQ(Paired(requests, "HD ka\r\n"), "answers 0");
  EXPECT_EQ(Paired(requests, "HD kb\r\n"), "answers 1");
  EXPECT_EQ(Paired(requests, "HD O1\r\n"), "answers 2");
  EXPECT_EQ(Paired(requests, "HD O2\r\n"), "answers 3");
  EXPECT_EQ(Paired(requests, "HD O3\r\n"), "nobody");
  EXPECT_EQ(Paired({"mg a q k\r\n", "mg b k\r\n"}, "HD kb\r\n"), "answers 1");
}

TEST(PairingTest, AQuietRequestBeforeAFenceOfAnotherKindIsSure) {
  EXPECT_EQ(Paired({"mg a q\r\n", "mg b q\r\n", "mn\r\n"}, "HD\r\n"), "answers 0");
  EXPECT_EQ(Paired({"ms a 1 q\r\nx\r\n", "ms b 1 q\r\nx\r\n", "mn\r\n"}, "NS\r\n"), "answers 0");
  EXPECT_EQ(Paired({"ms big 1 q\r\nx\r\n", "mn\r\n"}, "SERVER_ERROR object too large\r\n"),
            "answers 0");
}

TEST(PairingTest, ANamelessQuietRequestBeforeOneOfItsKindIsUnsure) {
  EXPECT_EQ(Paired({"mg a q\r\n", "mg b\r\n"}, "HD\r\n"), "unsure");
  EXPECT_EQ(Paired({"mg a q\r\n", "mg b\r\n"}, "EN\r\n"), "answers 1");
  EXPECT_EQ(Paired({"ma a q\r\n", "incr b 1\r\n"}, "CLIENT_ERROR cannot increment\r\n"), "unsure");
  EXPECT_EQ(Paired({"mg a q O1\r\n", "mg b O1\r\n"}, "HD O1\r\n"), "unsure");
}

TEST(PairingTest, AFetchWithALongKeyTakesEarlierRepliesAlong) {
  const std::string fetch = "get " + Times('k', 251) + "\r\n";
  const std::string error = "CLIENT_ERROR bad command line format\r\n";
  EXPECT_EQ(Paired({fetch, "version\r\n"}, error), "answers 0");
  EXPECT_EQ(Paired({"version\r\n", "set a 0 0 1\r\nx\r\n", fetch}, error), "answers 2");
  EXPECT_EQ(Paired({"version\r\n", fetch}, "VERSION 1\r\n"), "answers 0");
  EXPECT_EQ(Paired({"set a x 0 1\r\n", fetch}, error), "unsure");
  EXPECT_EQ(Paired({fetch, fetch}, error), "unsure");
}

TEST(PairingTest, BinaryRepliesNameTheirRequest) {
  const std::vector<std::string> requests = {
      Binary(kOpGetQ, "a", "", 1), Binary(kOpGetKQ, "b", "", 2), Binary(kOpSetQ, "c", "", 2),
      Binary(kOpGetQ, "d", "", 3), Binary(kOpNoop, "", "", 4)};
  EXPECT_EQ(Paired(requests, Replied(kOpGetQ, 0, 1)), "answers 0");
  EXPECT_EQ(Paired(requests, Replied(kOpGetKQ, 0, 2, "b")), "answers 1");
  EXPECT_EQ(Paired(requests, Replied(kOpSetQ, 3, 2)), "answers 2");
  EXPECT_EQ(Paired(requests, Replied(kOpGetQ, 0, 3)), "answers 3");
  EXPECT_EQ(Paired(requests, Replied(kOpNoop, 0, 4)), "answers 4");
  EXPECT_EQ(Paired(requests, Replied(kOpNoop, 0, 5)), "nobody");
  EXPECT_EQ(
      Paired({Binary(kOpNoop, "", "", 1), Binary(kOpNoop, "", "", 2)}, Replied(kOpNoop, 0, 2)),
      "nobody");
}

TEST(PairingTest, BinaryKeysTellFetchesApartThatShareAnOpaque) {
  const std::vector<std::string> requests = {Binary(kOpGetKQ, "a"), Binary(kOpGetKQ, "b"),
                                             Binary(kOpGatKQ, "c"), Binary(kOpGetK, "d"),
                                             Binary(kOpNoop)};
  EXPECT_EQ(Paired(requests, Replied(kOpGetKQ, 0, 0, "a")), "answers 0");
  EXPECT_EQ(Paired(requests, Replied(kOpGetKQ, 0, 0, "b")), "answers 1");
  EXPECT_EQ(Paired(requests, Replied(kOpGatKQ, 0, 0, "c")), "answers 2");
  EXPECT_EQ(Paired(requests, Replied(kOpGetK, 1, 0, "d")), "answers 3");
}

TEST(PairingTest, BinaryOpcodesTellRequestsApartThatShareAnOpaque) {
  const std::vector<std::string> requests = {Binary(kOpGetQ, "a"), Binary(kOpGetQ, "b"),
                                             Binary(kOpSetQ, "c"), Binary(kOpGet, "d"),
                                             Binary(kOpNoop)};
  EXPECT_EQ(Paired(requests, Replied(kOpGetQ, 0)), "answers 0");
  EXPECT_EQ(Paired(requests, Replied(kOpSetQ, 0x82)), "answers 2");
  EXPECT_EQ(Paired(requests, Replied(kOpGet, 1)), "answers 3");
  EXPECT_EQ(Paired(requests, Replied(kOpNoop, 0)), "nobody");
}

TEST(PairingTest, ABinaryErrorThatTwoMayHaveEarnedIsUnsure) {
  const std::string refused = Binary(kOpGetQ);
  EXPECT_EQ(Paired({Binary(kOpGetQ, "a", "", 1), refused}, Replied(kOpGetQ, 4)), "answers 1");
  EXPECT_EQ(Paired({Binary(kOpGetQ, "a"), refused}, Replied(kOpGetQ, 4)), "unsure");
}

TEST(PairingTest, ThousandsOfQuietRequestsAreLookedThroughInBoundedTime) {
  const Request quiet = RequestOf("mg a q\r\n");
  const Reply hit = ReplyOf("HD\r\n");
  size_t looks = 0;
  const auto at = [&](size_t) -> const Request& {
    ++looks;
    return quiet;
  };
  EXPECT_EQ(FindAnswered(hit, 100'000, at).index, 0u);
  EXPECT_LT(looks, 2 * kPairingLookahead);
  looks = 0;
  FindAnswered(ReplyOf("CLIENT_ERROR x\r\n"), 100'000, at);
  EXPECT_LT(looks, 300'000u);
}

}  // namespace
}  // namespace mcscope::protocol
