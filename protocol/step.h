// What pulling on a framer yields: one step at a time, over the bytes the caller offers.
//
// Small values without views; any thread.
#ifndef MCSCOPE_PROTOCOL_STEP_H_
#define MCSCOPE_PROTOCOL_STEP_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "protocol/reply.h"
#include "protocol/request.h"

namespace mcscope::protocol {

// Why a stream can not be framed any further; the `reason` label of tunnels.
enum class OpaqueReason : uint8_t {
  kTls,          // first byte 0x16
  kLongLine,     // a line longer than memcached reads
  kBadMagic,     // a binary request that does not begin with 0x80: memcached closes
  kWatch,        // `watch`: log lines at any time from here on
  kMetadump,     // `lru_crawler metadump` and its kin
  kUnsolicited,  // memcached spoke although nothing was asked
  kReply,        // a reply that can not be framed, or fits no request
  kUnsure,       // anything else the framer declines to interpret
};
inline constexpr size_t kOpaqueReasonCount = static_cast<size_t>(OpaqueReason::kUnsure) + 1;
absl::string_view Name(OpaqueReason reason);

enum class StepKind : uint8_t {
  kComplete,  // a whole request (reply) ends at `used`
  kPartial,   // all bytes offered belong to a request (reply) that goes on; offer the next ones
  kOpaque,    // nothing from the first offered byte on can be framed; final
};

struct RequestStep {
  StepKind kind = StepKind::kPartial;
  size_t used = 0;                              // bytes of the window this step took; 0 for kOpaque
  Request request;                              // for kComplete
  OpaqueReason reason = OpaqueReason::kUnsure;  // for kOpaque
};

struct ReplyStep {
  StepKind kind = StepKind::kPartial;
  size_t used = 0;
  Reply reply;  // for kComplete
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_STEP_H_
