// Cuts the two byte streams of a connection into requests and replies. Sans-IO: no socket, clock or
// log. Both framers are *pulled*: the caller offers the bytes that arrived, gets one step, and calls
// again with what is left. Every byte is offered exactly once; a framer remembers what it must of an
// unfinished line (bounded), never of a data block. Time is linear in the bytes offered.
//
// Owner: the session (requests) and the link (replies). Used by one thread.
#ifndef MCSCOPE_PROTOCOL_FRAMER_H_
#define MCSCOPE_PROTOCOL_FRAMER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "protocol/reply.h"
#include "protocol/request.h"

namespace mcscope::protocol {

// Why a stream can not be framed any further; the `reason` label of tunnels.
enum class OpaqueReason : uint8_t {
  kBinary,       // first byte 0x80
  kTls,          // first byte 0x16
  kLongLine,     // a line longer than memcached reads
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
  size_t used = 0;  // bytes of the window this step took; 0 for kOpaque
  Request request;  // for kComplete
  OpaqueReason reason = OpaqueReason::kUnsure;  // for kOpaque
};

class RequestFramer {
 public:
  RequestFramer();
  ~RequestFramer();
  RequestFramer(RequestFramer&&) noexcept;
  RequestFramer& operator=(RequestFramer&&) noexcept;

  // The next step over `window`, which is not empty.
  RequestStep Next(absl::string_view window);

  // Some bytes of an unfinished request were taken.
  bool mid_request() const;

  // While mid_request(): memcached waits for the rest in silence however its bytes are chunked, so
  // that holding them back can be noticed by nobody. False when its line is one memcached refuses,
  // or is over the 2,048 bytes that memcached takes without a newline (get and gets excepted).
  bool holdable() const;

  // While mid_request() in a data block: bytes still to come, CRLF included. Else 0.
  uint64_t missing() const;
};

struct ReplyStep {
  StepKind kind = StepKind::kPartial;
  size_t used = 0;
  Reply reply;  // for kComplete
};

// Replies carry their own shape, so this needs no knowledge of the requests; pairing is the caller's
// (see CanAnswer).
class ReplyFramer {
 public:
  ReplyFramer();
  ~ReplyFramer();
  ReplyFramer(ReplyFramer&&) noexcept;
  ReplyFramer& operator=(ReplyFramer&&) noexcept;

  // The next step over `window`, which is not empty.
  ReplyStep Next(absl::string_view window);

  // Some bytes of an unfinished reply were taken.
  bool mid_reply() const;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_FRAMER_H_
