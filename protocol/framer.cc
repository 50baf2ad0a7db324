#include "protocol/framer.h"

#include <array>

namespace mcscope::protocol {
namespace {

constexpr unsigned char kTlsHandshake = 0x16;

constexpr std::array<absl::string_view, kOpaqueReasonCount> kReasonNames = {
    "tls", "long_line", "bad_magic", "watch", "metadump", "unsolicited", "reply", "unsure"};

}  // namespace

absl::string_view Name(OpaqueReason reason) { return kReasonNames[static_cast<size_t>(reason)]; }

RequestStep RequestFramer::Next(absl::string_view window) {
  if (auto* text = std::get_if<TextRequestFramer>(&dialect_)) return text->Next(window);
  if (auto* binary = std::get_if<BinaryRequestFramer>(&dialect_)) return binary->Next(window);
  return Start(window);
}

RequestStep RequestFramer::Start(absl::string_view window) {
  if (std::holds_alternative<std::monostate>(dialect_)) {
    const auto first = static_cast<unsigned char>(window[0]);
    if (first == kBinaryRequestMagic) return dialect_.emplace<BinaryRequestFramer>().Next(window);
    if (first != kTlsHandshake) return dialect_.emplace<TextRequestFramer>().Next(window);
    dialect_ = OpaqueReason::kTls;
  }
  RequestStep step;
  step.kind = StepKind::kOpaque;
  step.reason = *std::get_if<OpaqueReason>(&dialect_);
  return step;
}

bool RequestFramer::mid_request() const {
  if (const auto* text = std::get_if<TextRequestFramer>(&dialect_)) return text->mid_request();
  const auto* binary = std::get_if<BinaryRequestFramer>(&dialect_);
  return binary != nullptr && binary->mid_request();
}

bool RequestFramer::holdable() const {
  if (const auto* text = std::get_if<TextRequestFramer>(&dialect_)) return text->holdable();
  const auto* binary = std::get_if<BinaryRequestFramer>(&dialect_);
  return binary != nullptr && binary->holdable();
}

uint64_t RequestFramer::missing() const {
  if (const auto* text = std::get_if<TextRequestFramer>(&dialect_)) return text->missing();
  const auto* binary = std::get_if<BinaryRequestFramer>(&dialect_);
  return binary == nullptr ? 0 : binary->missing();
}

Command RequestFramer::command() const {
  if (const auto* text = std::get_if<TextRequestFramer>(&dialect_)) return text->command();
  const auto* binary = std::get_if<BinaryRequestFramer>(&dialect_);
  return binary == nullptr ? Command::kOther : binary->command();
}

ReplyStep ReplyFramer::Next(absl::string_view window) {
  if (auto* text = std::get_if<TextReplyFramer>(&dialect_)) return text->Next(window);
  if (auto* binary = std::get_if<BinaryReplyFramer>(&dialect_)) return binary->Next(window);
  if (static_cast<unsigned char>(window[0]) == kBinaryReplyMagic) {
    return dialect_.emplace<BinaryReplyFramer>().Next(window);
  }
  return dialect_.emplace<TextReplyFramer>().Next(window);
}

bool ReplyFramer::mid_reply() const {
  if (const auto* text = std::get_if<TextReplyFramer>(&dialect_)) return text->mid_reply();
  const auto* binary = std::get_if<BinaryReplyFramer>(&dialect_);
  return binary != nullptr && binary->mid_reply();
}

}  // namespace mcscope::protocol
