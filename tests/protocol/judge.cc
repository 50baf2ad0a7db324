#include "tests/protocol/judge.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocol/pairing.h"
#include "tests/support/binary_packet.h"

namespace mcscope::protocol {
namespace {

// The first request of a connection: it settles the dialect.
std::string Greeting(Dialect dialect) {
  return dialect == Dialect::kText ? "mn\r\n" : test::Binary(test::kOpNoop);
}

std::string ReplyToGreeting(Dialect dialect) {
  if (dialect == Dialect::kText) return "MN\r\n";
  test::BinaryPacket reply;
  reply.magic = kBinaryReplyMagic;
  reply.opcode = test::kOpNoop;
  return reply.Bytes();
}

bool EndsBinaryConnection(const Frame<Request>& frame) {
  size_t used = 0;
  const auto header = BinaryHeaderReader().Take(frame.bytes, &used);
  return frame.content.command == Command::kQuit || ReadBinaryRequest(*header)->closes;
}

// memcached closes the connection behind its answer, if there is one.
bool EndsConnection(const Frame<Request>& frame) {
  const Request& request = frame.content;
  if (request.dialect == Dialect::kBinary) return EndsBinaryConnection(frame);
  if (request.answer != Answer::kNever) return false;
  return request.command == Command::kQuit || absl::StrContains(frame.bytes, "HTTP/");
}

// memcached takes such a line or closes the connection, depending on how it arrives.
bool DependsOnChunks(const Frame<Request>& frame) {
  const Command command = frame.content.command;
  return (command == Command::kGat || command == Command::kGats) &&
         frame.bytes.size() > TextRequestFramer::kMaxLine;
}

// memcached closes in such haste that the replies it has not sent yet are lost.
bool LosesReplies(const Frame<Request>& frame) {
  const Request& request = frame.content;
  return EndsConnection(frame) && request.answer == Answer::kNever &&
         (request.dialect == Dialect::kText || request.command != Command::kQuit);
}

bool CanResultIn(Command command, Result result) {
  return ((Info(command).results >> static_cast<int>(result)) & 1) != 0;
}

std::vector<std::string> WithOneThread(std::vector<std::string> options) {
  options.insert(options.end(), {"-t", "1"});
  return options;
}

}  // namespace

// One thread, so that a connection's answer proves that what came before it on others is processed.
Judge::Judge(Dialect dialect, std::vector<std::string> options)
    : dialect_(dialect), memcached_(WithOneThread(std::move(options))) {
  Connect();
}

void Judge::Connect() {
  client_ = std::make_unique<test::TcpClient>(memcached_.endpoint());
  const std::string reply = ReplyToGreeting(dialect_);
  EXPECT_EQ(client_->Ask(Greeting(dialect_), reply), reply);
}

Judge::Fence Judge::NextFence() {
  ++fences_;
  if (dialect_ == Dialect::kText) {
    return {absl::StrCat("mg fence Ofence", fences_, "\r\n"),
            absl::StrCat("EN Ofence", fences_, "\r\n")};
  }
  test::BinaryPacket packet;
  packet.opcode = test::kOpNoop;
  packet.opaque = 0xfe000000u + static_cast<uint32_t>(fences_);
  Fence fence;
  fence.request = packet.Bytes();
  packet.magic = kBinaryReplyMagic;
  fence.reply = packet.Bytes();
  return fence;
}

Judge::Answers Judge::SendAndCollect(absl::string_view bytes, const Cuts& cuts, bool ends) {
  const Fence fence = NextFence();
  size_t sent = 0;
  for (const size_t cut : cuts) {
    if (cut <= sent || cut >= bytes.size()) continue;
    client_->Send(bytes.substr(sent, cut - sent));
    sent = cut;
  }
  client_->Send(bytes.substr(sent));
  // memcached may close with what it did not read still there, which destroys what it has sent.
  if (!ends) client_->Send(fence.request);
  Answers answers;
  answers.fenced = ends ? !client_->ReadToEnd() : client_->ReadUntil(fence.reply);
  absl::string_view received = client_->received();
  if (answers.fenced && !ends) received.remove_suffix(fence.reply.size());
  answers.replies = FrameReplies(received);
  if (!answers.fenced) Connect();
  return answers;
}

void Judge::ExpectForetold(const Frame<Request>& frame, const Answers& answers) {
  const Request& request = frame.content;
  const std::string story =
      absl::StrCat(Describe(request), " <", Escape(frame.bytes), ">\n", Describe(answers.replies));
  ASSERT_EQ(answers.fenced, !EndsConnection(frame)) << story;
  ASSERT_EQ(answers.replies.rest, "") << story;
  const auto& replies = answers.replies.frames;
  ASSERT_LE(replies.size(), request.answer == Answer::kNever ? 0u : 1u) << story;
  if (IsSureOfAnswer(request)) {
    ASSERT_EQ(replies.size(), 1u) << story;
  }
  if (replies.empty()) {
    EXPECT_TRUE(!answers.fenced || CanResultIn(request.command, Result::kNone)) << story;
    return;
  }
  const Reply& reply = replies[0].content;
  EXPECT_TRUE(CanAnswer(request, reply)) << story;
  EXPECT_TRUE(IsLikelyAnswer(request, reply)) << story;
  EXPECT_TRUE(CanResultIn(request.command, ResultOf(request, reply))) << story;
  EXPECT_TRUE(!request.refused || reply.error != ErrorKind::kNone) << story;
}

void Judge::OneByOne(const std::string& stream) {
  for (const Frame<Request>& frame : FrameRequests(Greeting(dialect_) + stream).frames) {
    client_->Clear();
    ExpectForetold(frame, SendAndCollect(frame.bytes, {}, EndsConnection(frame)));
    if (testing::Test::HasFatalFailure()) return;
  }
}

void Judge::AsPipeline(const std::string& stream, const Cuts& cuts) {
  std::string pipeline;
  std::vector<Request> requests;
  bool ends = false;
  for (const Frame<Request>& frame : FrameRequests(Greeting(dialect_) + stream).frames) {
    if (DependsOnChunks(frame) || LosesReplies(frame)) break;
    pipeline += frame.bytes;
    requests.push_back(frame.content);
    ends = EndsConnection(frame);
    if (ends) break;
  }
  SCOPED_TRACE(Escape(pipeline));
  client_->Clear();
  const Answers answers = SendAndCollect(pipeline, cuts, ends);
  ++pipelines_;
  ASSERT_NE(answers.fenced, ends) << "open or ended against expectation, after\n"
                                  << Describe(answers.replies);
  ASSERT_EQ(answers.replies.rest, "");
  ExpectPairing(requests, answers.replies);
}

void Judge::ExpectPairing(const std::vector<Request>& requests, const Framed<Reply>& replies) {
  size_t next = 0;
  std::string story;
  const auto skip_to = [&](size_t end, bool dropped) {
    for (; next < end; ++next) {
      absl::StrAppend(&story, Describe(requests[next]), " <- nothing\n");
      if (!dropped) {
        EXPECT_FALSE(IsSureOfAnswer(requests[next])) << story;
      }
    }
  };
  for (const Frame<Reply>& reply : replies.frames) {
    const Pairing pairing =
        FindAnswered(reply.content, requests.size() - next,
                     [&](size_t i) -> const Request& { return requests[next + i]; });
    if (pairing.kind == Pairing::Kind::kUnsure) {
      ++unsure_;
      return;
    }
    ASSERT_EQ(pairing.kind, Pairing::Kind::kAnswers)
        << story << "then " << Escape(reply.bytes) << "\n"
        << Describe(replies);
    const size_t answered = next + pairing.index;
    skip_to(answered, requests[answered].drops_unsent_replies);
    absl::StrAppend(&story, Describe(requests[next]), " <- ", Escape(reply.bytes), "\n");
    ++next;
  }
  skip_to(requests.size(), false);
}

// A request of another connection, sent later, is answered: memcached has seen what we sent before.
bool Judge::ProcessedAll() {
  if (witness_ == nullptr) witness_ = std::make_unique<test::TcpClient>(memcached_.endpoint());
  for (int i = 0; i < 2; ++i) {
    const std::string reply = ReplyToGreeting(dialect_);
    if (witness_->Ask(Greeting(dialect_), reply) != reply) return false;
  }
  return true;
}

void Judge::InTwo(const std::string& request, size_t cut) {
  RequestFramer framer;
  framer.Next(Greeting(dialect_));
  const RequestStep step = framer.Next(absl::string_view(request).substr(0, cut));
  ASSERT_EQ(step.kind, StepKind::kPartial);
  client_->Clear();
  client_->Send(absl::string_view(request).substr(0, cut));
  if (framer.holdable()) {
    ASSERT_TRUE(ProcessedAll());
    client_->ReadUntilQuiet(absl::ZeroDuration());
    EXPECT_EQ(client_->received(), "") << Escape(request) << " cut at " << cut;
    EXPECT_EQ(client_->ending(), test::Ending::kOpen) << Escape(request) << " cut at " << cut;
  }
  const std::string rest = request.substr(cut);
  const RequestStep last = framer.Next(rest);
  ASSERT_EQ(last.kind, StepKind::kComplete);
  ASSERT_EQ(last.used, rest.size());
  const Frame<Request> frame = {request, last.request};
  ExpectForetold(frame, SendAndCollect(rest, {}, EndsConnection(frame)));
}

}  // namespace mcscope::protocol
