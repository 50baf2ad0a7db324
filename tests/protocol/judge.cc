#include "tests/protocol/judge.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocol/pairing.h"

namespace mcscope::protocol {
namespace {

// memcached closes the connection instead of answering.
bool EndsConnection(const Frame<Request>& frame) {
  const Request& request = frame.content;
  if (request.answer != Answer::kNever) return false;
  return request.command == Command::kQuit || absl::StrContains(frame.bytes, "HTTP/");
}

// memcached takes such a line or closes the connection, depending on how it arrives.
bool DependsOnChunks(const Frame<Request>& frame) {
  const Command command = frame.content.command;
  return (command == Command::kGat || command == Command::kGats) &&
         frame.bytes.size() > TextRequestFramer::kMaxLine;
}

bool CanResultIn(Command command, Result result) {
  return ((Info(command).results >> static_cast<int>(result)) & 1) != 0;
}

}  // namespace

// One thread, so that a connection's answer proves that what came before it on others is processed.
Judge::Judge() : memcached_({"-t", "1"}) { Connect(); }

void Judge::Connect() {
  client_ = std::make_unique<test::TcpClient>(memcached_.endpoint());
  // The first byte of a connection picks its dialect; that is not at stake here.
  EXPECT_EQ(client_->Ask("mn\r\n"), "MN\r\n");
}

Judge::Answers Judge::SendAndCollect(absl::string_view bytes, const Cuts& cuts) {
  const std::string name = absl::StrCat("Ofence", ++fences_);
  const std::string fence_reply = absl::StrCat("EN ", name, "\r\n");
  client_->Clear();
  size_t sent = 0;
  for (const size_t cut : cuts) {
    if (cut <= sent || cut >= bytes.size()) continue;
    client_->Send(bytes.substr(sent, cut - sent));
    sent = cut;
  }
  client_->Send(absl::StrCat(bytes.substr(sent), "mg fence ", name, "\r\n"));
  Answers answers;
  answers.fenced = client_->ReadUntil(fence_reply);
  absl::string_view received = client_->received();
  if (answers.fenced) received.remove_suffix(fence_reply.size());
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
  for (const Frame<Request>& frame : FrameRequests("mn\r\n" + stream).frames) {
    ExpectForetold(frame, SendAndCollect(frame.bytes, {}));
    if (testing::Test::HasFatalFailure()) return;
  }
}

void Judge::AsPipeline(const std::string& stream, const Cuts& cuts) {
  std::string pipeline;
  std::vector<Request> requests;
  for (const Frame<Request>& frame : FrameRequests("mn\r\n" + stream).frames) {
    if (EndsConnection(frame) || DependsOnChunks(frame)) break;
    pipeline += frame.bytes;
    requests.push_back(frame.content);
  }
  SCOPED_TRACE(Escape(pipeline));
  const Answers answers = SendAndCollect(pipeline, cuts);
  ++pipelines_;
  ASSERT_TRUE(answers.fenced) << "the fence's reply is missing after\n"
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
  return witness_->Ask("mn\r\n") == "MN\r\n" && witness_->Ask("mn\r\n") == "MN\r\n";
}

void Judge::InTwo(const std::string& request, size_t cut) {
  RequestFramer framer;
  framer.Next("mn\r\n");
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
  ExpectForetold({request, last.request}, SendAndCollect(rest, {}));
}

}  // namespace mcscope::protocol
