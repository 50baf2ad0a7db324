#include "protocol/framer.h"

#include <array>

namespace mcscope::protocol {
namespace {

constexpr unsigned char kBinaryMagic = 0x80;
constexpr unsigned char kTlsHandshake = 0x16;

constexpr std::array<absl::string_view, kOpaqueReasonCount> kReasonNames = {
    "binary", "tls", "long_line", "watch", "metadump", "unsolicited", "reply", "unsure"};

}  // namespace

absl::string_view Name(OpaqueReason reason) { return kReasonNames[static_cast<size_t>(reason)]; }

RequestStep RequestFramer::Next(absl::string_view window) {
  if (dialect_ == Dialect::kText) return text_.Next(window);
  if (dialect_ == Dialect::kUndecided) {
    const auto first = static_cast<unsigned char>(window[0]);
    if (first != kBinaryMagic && first != kTlsHandshake) {
      dialect_ = Dialect::kText;
      return text_.Next(window);
    }
    dialect_ = Dialect::kForeign;
    foreign_ = first == kBinaryMagic ? OpaqueReason::kBinary : OpaqueReason::kTls;
  }
  RequestStep step;
  step.kind = StepKind::kOpaque;
  step.reason = foreign_;
  return step;
}

}  // namespace mcscope::protocol
