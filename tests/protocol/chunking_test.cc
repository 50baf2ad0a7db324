// However a stream is chunked, and whatever is in it, its frames are the same and put together they
// are the stream.
#include <gtest/gtest.h>

#include <string>

#include "tests/protocol/binary_traffic.h"
#include "tests/protocol/framing.h"
#include "tests/protocol/request_cases.h"
#include "tests/protocol/traffic.h"

namespace mcscope::protocol {
namespace {

constexpr int kStreams = 3000;

template <typename Source, typename Frame>
void ExpectSameHoweverChunked(const std::string& stream, Source* traffic, const Frame& frame) {
  const auto whole = frame(stream, Cuts{});
  ASSERT_EQ(whole.Joined(), stream);
  const std::string expected = Describe(whole);
  if (stream.size() < 5000) {
    ASSERT_EQ(Describe(frame(stream, EveryByte(stream.size()))), expected) << Escape(stream);
  }
  for (int i = 0; i < 5; ++i) {
    const Cuts cuts = traffic->RandomCuts(stream.size(), 8);
    const auto framed = frame(stream, cuts);
    ASSERT_EQ(Describe(framed), expected) << Escape(stream);
    ASSERT_EQ(framed.Joined(), stream);
  }
}

TEST(ChunkingTest, RequestsAreTheSameHoweverTheyAreChunked) {
  for (int seed = 0; seed < kStreams; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    ExpectSameHoweverChunked(traffic.Pipeline(), &traffic, FrameRequests);
    if (HasFatalFailure()) return;
  }
}

TEST(ChunkingTest, RepliesAreTheSameHoweverTheyAreChunked) {
  for (int seed = 0; seed < kStreams; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    ExpectSameHoweverChunked(traffic.Replies(), &traffic, FrameReplies);
    if (HasFatalFailure()) return;
  }
}

TEST(ChunkingTest, BinaryRequestsAreTheSameHoweverTheyAreChunked) {
  for (int seed = 0; seed < kStreams; ++seed) {
    SCOPED_TRACE(seed);
    BinaryTraffic traffic(seed);
    ExpectSameHoweverChunked(traffic.Pipeline(), &traffic, FrameRequests);
    if (HasFatalFailure()) return;
  }
}

TEST(ChunkingTest, BinaryRepliesAreTheSameHoweverTheyAreChunked) {
  for (int seed = 0; seed < kStreams; ++seed) {
    SCOPED_TRACE(seed);
    BinaryTraffic traffic(seed);
    ExpectSameHoweverChunked(traffic.Replies(), &traffic, FrameReplies);
    if (HasFatalFailure()) return;
  }
}

TEST(ChunkingTest, NonsenseIsTheSameHoweverItIsChunked) {
  for (int seed = 0; seed < kStreams; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    std::string stream;
    for (size_t i = traffic.Below(4000); i > 0; --i) {
      stream += "\r\n VALUE getsmq0159\0\t"[traffic.Below(21)];
    }
    ExpectSameHoweverChunked(stream, &traffic, FrameRequests);
    ExpectSameHoweverChunked(stream, &traffic, FrameReplies);
    if (HasFatalFailure()) return;
  }
}

TEST(ChunkingTest, BinaryNonsenseIsTheSameHoweverItIsChunked) {
  for (int seed = 0; seed < kStreams; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    std::string stream;
    for (size_t i = traffic.Below(600); i > 0; --i) {
      stream += static_cast<char>(traffic.OneIn(2) ? 0 : traffic.Below(256));
    }
    ExpectSameHoweverChunked("\x80" + stream, &traffic, FrameRequests);
    ExpectSameHoweverChunked("\x81" + stream, &traffic, FrameReplies);
    if (HasFatalFailure()) return;
  }
}

// The framers' work is linear in the bytes: were it quadratic in a window's or a line's size, each
// of these would take hours.
TEST(ChunkingTest, ManyRequestsInOneWindowTakeLinearTime) {
  std::string stream;
  while (stream.size() < 8'000'000) stream += "get a\r\nmn\r\n\r\n";
  RequestFramer framer;
  size_t used = 0;
  while (used < stream.size()) {
    const RequestStep step = framer.Next(absl::string_view(stream).substr(used));
    ASSERT_EQ(step.kind, StepKind::kComplete);
    used += step.used;
  }
}

TEST(ChunkingTest, ManyBinaryRequestsInOneWindowTakeLinearTime) {
  const std::string requests =
      test::Binary(test::kOpGetKQ, "key") + test::Binary(test::kOpSetQ, "key", "value");
  std::string stream;
  while (stream.size() < 8'000'000) stream += requests;
  RequestFramer framer;
  size_t used = 0;
  while (used < stream.size()) {
    const RequestStep step = framer.Next(absl::string_view(stream).substr(used));
    ASSERT_EQ(step.kind, StepKind::kComplete);
    used += step.used;
  }
}

TEST(ChunkingTest, ALongBinaryValueByteByByteTakesLinearTime) {
  const std::string request = test::Binary(test::kOpSet, "key", Times('v', 8'000'000));
  RequestFramer framer;
  for (size_t i = 0; i + 1 < request.size(); ++i) {
    ASSERT_EQ(framer.Next(absl::string_view(request).substr(i, 1)).kind, StepKind::kPartial);
  }
  EXPECT_EQ(framer.Next("v").kind, StepKind::kComplete);
}

TEST(ChunkingTest, BinaryStatisticsOfManyPacketsTakeLinearTime) {
  test::BinaryPacket packet;
  packet.magic = kBinaryReplyMagic;
  packet.opcode = test::kOpStat;
  const std::string end = packet.Bytes();
  packet.key = "k";
  std::string reply;
  while (reply.size() < 8'000'000) reply += packet.Bytes();
  reply += end;
  ReplyFramer whole;
  EXPECT_EQ(whole.Next(reply).kind, StepKind::kComplete);
  ReplyFramer framer;
  for (size_t i = 0; i + 1 < reply.size(); ++i) {
    ASSERT_EQ(framer.Next(absl::string_view(reply).substr(i, 1)).kind, StepKind::kPartial);
  }
  EXPECT_EQ(framer.Next(absl::string_view(reply).substr(reply.size() - 1)).kind,
            StepKind::kComplete);
}

TEST(ChunkingTest, OneLongLineByteByByteTakesLinearTime) {
  const std::string line = "get " + Times('k', 8'000'000);
  RequestFramer framer;
  for (const char& c : line) {
    ASSERT_EQ(framer.Next(absl::string_view(&c, 1)).kind, StepKind::kPartial);
  }
  const RequestStep step = framer.Next("\n");
  EXPECT_EQ(step.kind, StepKind::kComplete);
  EXPECT_TRUE(step.request.drops_unsent_replies);
}

TEST(ChunkingTest, OneLongLineOfShortKeysTakesLinearTime) {
  std::string line = "get";
  while (line.size() < 8'000'000) line += " k";
  line += "\r\n";
  RequestFramer framer;
  const RequestStep step = framer.Next(line);
  EXPECT_EQ(step.kind, StepKind::kComplete);
  EXPECT_FALSE(step.request.drops_unsent_replies);
}

TEST(ChunkingTest, AReplyOfManyValuesTakesLinearTime) {
  std::string reply;
  while (reply.size() < 8'000'000) reply += "VALUE k 0 1\r\n1\r\n";
  reply += "END\r\n";
  ReplyFramer whole;
  EXPECT_EQ(whole.Next(reply).kind, StepKind::kComplete);
  ReplyFramer framer;
  for (size_t i = 0; i + 1 < reply.size(); ++i) {
    ASSERT_EQ(framer.Next(absl::string_view(reply).substr(i, 1)).kind, StepKind::kPartial);
  }
  EXPECT_EQ(framer.Next("\n").kind, StepKind::kComplete);
}

TEST(ChunkingTest, AMetaReplyFullOfNewlinesTakesLinearTime) {
  const std::string reply = "HD k" + Times('\n', 8000) + "\r\n";
  ReplyFramer framer;
  for (size_t i = 0; i + 1 < reply.size(); ++i) {
    ASSERT_EQ(framer.Next(absl::string_view(reply).substr(i, 1)).kind, StepKind::kPartial);
  }
  EXPECT_EQ(framer.Next("\n").kind, StepKind::kComplete);
}

}  // namespace
}  // namespace mcscope::protocol
