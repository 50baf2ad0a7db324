#include "protocol/text_request.h"

#include <algorithm>
#include <cstring>

#include "protocol/tokenizer.h"

namespace mcscope::protocol {
namespace {

constexpr size_t kNoNewline = absl::string_view::npos;

size_t FindNewline(absl::string_view bytes) {
  const void* found = std::memchr(bytes.data(), '\n', bytes.size());
  return found == nullptr ? kNoNewline : static_cast<const char*>(found) - bytes.data();
}

}  // namespace

RequestStep TextRequestFramer::Next(absl::string_view window) {
  switch (state_) {
    case State::kIdle:
      return StartLine(window);
    case State::kLine:
      return ContinueLine(window);
    case State::kKeys:
      return ContinueKeys(window, 0);
    case State::kBlock:
      return ContinueBlock(window, 0);
    case State::kOpaque:
      break;
  }
  return Opaque(reason_);
}

bool TextRequestFramer::holdable() const {
  return state_ == State::kLine || state_ == State::kBlock ||
         (state_ == State::kKeys && scan_->patient());
}

RequestStep TextRequestFramer::StartLine(absl::string_view window) {
  const absl::string_view head = window.substr(0, kMaxLine + 1);
  const size_t newline = FindNewline(head);
  if (newline != kNoNewline) return FinishLine(head.substr(0, newline), window, newline + 1);
  if (head.size() > kMaxLine) return StartKeys(head, window, head.size());
  line_ = std::make_unique<std::string>(head);
  return Partial(State::kLine, window.size());
}

RequestStep TextRequestFramer::ContinueLine(absl::string_view window) {
  const absl::string_view head = window.substr(0, kMaxLine + 1 - line_->size());
  const size_t newline = FindNewline(head);
  line_->append(head.data(), std::min(newline, head.size()));
  if (newline == kNoNewline && line_->size() <= kMaxLine) {
    return Partial(State::kLine, window.size());
  }
  // Nothing is remembered between requests.
  const std::unique_ptr<std::string> line = std::move(line_);
  if (newline == kNoNewline) return StartKeys(*line, window, head.size());
  return FinishLine(*line, window, newline + 1);
}

// `head`, the first bytes of a line, are more than are remembered.
RequestStep TextRequestFramer::StartKeys(absl::string_view head, absl::string_view window,
                                         size_t used) {
  std::optional<KeyScan> scan = KeyScan::Start(head);
  if (!scan) return Opaque(OpaqueReason::kLongLine);
  scan_ = std::make_unique<KeyScan>(*scan);
  return ContinueKeys(window, used);
}

RequestStep TextRequestFramer::ContinueKeys(absl::string_view window, size_t used) {
  const absl::string_view bytes = window.substr(used);
  const size_t newline = FindNewline(bytes);
  scan_->Take(bytes.substr(0, newline));
  if (newline == kNoNewline) return Partial(State::kKeys, window.size());
  const Request request = scan_->Finish();
  scan_.reset();
  return Complete(request, used + newline + 1);
}

// `bytes` are the line's, without its newline.
RequestStep TextRequestFramer::FinishLine(absl::string_view bytes, absl::string_view window,
                                          size_t used) {
  const TextLine line = ReadTextLine(RequestText(bytes));
  if (line.opaque) return Opaque(*line.opaque);
  if (line.block == 0) return Complete(line.request, used);
  request_ = line.request;
  block_ = DataBlock(line.block);
  return ContinueBlock(window, used);
}

RequestStep TextRequestFramer::ContinueBlock(absl::string_view window, size_t used) {
  used += block_.Take(window.substr(used));
  if (block_.missing() > 0) return Partial(State::kBlock, used);
  if (!block_.ends_well()) request_.refused = true;
  return Complete(request_, used);
}

RequestStep TextRequestFramer::Complete(const Request& request, size_t used) {
  state_ = State::kIdle;
  RequestStep step;
  step.kind = StepKind::kComplete;
  step.used = used;
  step.request = request;
  return step;
}

RequestStep TextRequestFramer::Partial(State state, size_t used) {
  state_ = state;
  RequestStep step;
  step.kind = StepKind::kPartial;
  step.used = used;
  return step;
}

RequestStep TextRequestFramer::Opaque(OpaqueReason reason) {
  state_ = State::kOpaque;
  reason_ = reason;
  RequestStep step;
  step.kind = StepKind::kOpaque;
  step.reason = reason;
  return step;
}

}  // namespace mcscope::protocol
