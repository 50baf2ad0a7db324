#include "tests/protocol/framing.h"

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace mcscope::protocol {
namespace {

bool InMidst(const RequestFramer& framer) { return framer.mid_request(); }
bool InMidst(const ReplyFramer& framer) { return framer.mid_reply(); }
const Request& ContentOf(const RequestStep& step) { return step.request; }
const Reply& ContentOf(const ReplyStep& step) { return step.reply; }
OpaqueReason ReasonOf(const RequestStep& step) { return step.reason; }
OpaqueReason ReasonOf(const ReplyStep&) { return OpaqueReason::kReply; }

template <typename Framer, typename Content>
Framed<Content> Run(absl::string_view stream, Cuts cuts) {
  Framer framer;
  Framed<Content> framed;
  cuts.push_back(stream.size());
  size_t done = 0;
  for (const size_t cut : cuts) {
    while (done < cut && !framed.opaque) {
      const absl::string_view window = stream.substr(done, cut - done);
      const auto step = framer.Next(window);
      framed.rest.append(window.data(), step.used);
      done += step.used;
      switch (step.kind) {
        case StepKind::kComplete:
          EXPECT_GT(step.used, 0u);
          EXPECT_FALSE(InMidst(framer));
          framed.frames.push_back({std::move(framed.rest), ContentOf(step)});
          framed.rest.clear();
          break;
        case StepKind::kPartial:
          EXPECT_EQ(step.used, window.size());
          EXPECT_TRUE(InMidst(framer));
          break;
        case StepKind::kOpaque:
          EXPECT_EQ(step.used, 0u);
          framed.opaque = true;
          framed.reason = ReasonOf(step);
          EXPECT_EQ(framer.Next(window).kind, StepKind::kOpaque) << "opaque is final";
          break;
      }
    }
  }
  const absl::string_view left = stream.substr(done);
  framed.rest.append(left.data(), left.size());
  return framed;
}

template <typename Content>
std::string DescribeFramed(const Framed<Content>& framed) {
  std::string text;
  for (const auto& frame : framed.frames) {
    absl::StrAppend(&text, Describe(frame.content), " <", Escape(frame.bytes), ">\n");
  }
  if (framed.opaque) absl::StrAppend(&text, "opaque ", Name(framed.reason), "\n");
  if (!framed.rest.empty()) absl::StrAppend(&text, "rest <", Escape(framed.rest), ">\n");
  return text;
}

// Which binary packet it is; empty in text.
std::string Wire(Dialect dialect, uint8_t opcode, uint32_t opaque) {
  if (dialect == Dialect::kText) return opaque != 0 ? " opaque" : "";
  return absl::StrCat(" ", absl::Hex(opcode, absl::kZeroPad2), "#", opaque);
}

}  // namespace

Cuts EveryByte(size_t size) {
  Cuts cuts;
  for (size_t i = 1; i < size; ++i) cuts.push_back(i);
  return cuts;
}

Framed<Request> FrameRequests(absl::string_view stream, const Cuts& cuts) {
  return Run<RequestFramer, Request>(stream, cuts);
}

Framed<Reply> FrameReplies(absl::string_view stream, const Cuts& cuts) {
  return Run<ReplyFramer, Reply>(stream, cuts);
}

std::string Describe(const Framed<Request>& framed) { return DescribeFramed(framed); }
std::string Describe(const Framed<Reply>& framed) { return DescribeFramed(framed); }

std::string Describe(const Request& request) {
  static constexpr const char* kAnswers[] = {"always", "never", "perhaps"};
  return absl::StrCat(
      Info(request.command).name, " ", kAnswers[static_cast<size_t>(request.answer)],
      request.refused ? " refused" : "", request.drops_unsent_replies ? " drops" : "",
      request.creates ? " creates" : "", Wire(request.dialect, request.opcode, request.opaque_hash),
      request.key_hash != 0 ? " key" : "");
}

std::string Describe(const Reply& reply) {
  static constexpr const char* kCodes[] = {
      "end", "values", "stored",  "not_stored", "exists", "not_found", "deleted", "touched",
      "ok",  "number", "version", "stats",      "reset",  "hd",        "va",      "en",
      "ns",  "ex",     "nf",      "mn",         "me",     "error",     "other"};
  static_assert(sizeof(kCodes) / sizeof(kCodes[0]) == kReplyCodeCount);
  static constexpr const char* kErrors[] = {"", " generic", " client", " too_large", " server"};
  return absl::StrCat(
      kCodes[static_cast<size_t>(reply.code)], kErrors[static_cast<size_t>(reply.error)],
      Wire(reply.dialect, reply.opcode, reply.opaque_hash), reply.key_hash != 0 ? " key" : "");
}

std::string Escape(absl::string_view bytes) {
  constexpr size_t kShown = 160;
  if (bytes.size() <= kShown) return absl::CHexEscape(bytes);
  return absl::StrCat(absl::CHexEscape(bytes.substr(0, kShown / 2)), "...", bytes.size(),
                      " bytes...", absl::CHexEscape(bytes.substr(bytes.size() - kShown / 4)));
}

}  // namespace mcscope::protocol
