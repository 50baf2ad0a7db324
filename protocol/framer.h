// Cuts the two byte streams of a connection into requests and replies. Sans-IO: no socket, clock or
// log. Both framers are *pulled*: the caller offers the bytes that arrived, gets one step, and
// calls again with what is left. Every byte is offered exactly once; a framer remembers what it
// must of an unfinished line (bounded), never of a data block. Time is linear in the bytes offered.
//
// The first byte of a connection picks its dialect, as in memcached; the framers here only do that
// and hand on.
//
// Owner: the session (requests) and the link (replies). Used by one thread.
#ifndef MCSCOPE_PROTOCOL_FRAMER_H_
#define MCSCOPE_PROTOCOL_FRAMER_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "protocol/reply.h"
#include "protocol/request.h"
#include "protocol/step.h"
#include "protocol/text_reply.h"
#include "protocol/text_request.h"

namespace mcscope::protocol {

class RequestFramer {
 public:
  // The next step over `window`, which is not empty.
  RequestStep Next(absl::string_view window);

  // Some bytes of an unfinished request were taken.
  bool mid_request() const { return text_.mid_request(); }

  // While mid_request(): memcached waits for the rest in silence however its bytes are chunked, so
  // that holding them back can be noticed by nobody. False when its line is one memcached refuses,
  // or is over the 2,048 bytes that memcached takes without a newline (get and gets excepted).
  bool holdable() const { return text_.holdable(); }

  // While mid_request() in a data block: bytes still to come, CRLF included. Else 0.
  uint64_t missing() const { return text_.missing(); }

  // While mid_request(): its command; kOther until its line is whole.
  Command command() const { return text_.command(); }

 private:
  enum class Dialect : uint8_t { kUndecided, kText, kForeign };

  Dialect dialect_ = Dialect::kUndecided;
  OpaqueReason foreign_ = OpaqueReason::kUnsure;  // what a foreign dialect is
  TextRequestFramer text_;
};

class ReplyFramer {
 public:
  // The next step over `window`, which is not empty.
  ReplyStep Next(absl::string_view window) { return text_.Next(window); }

  // Some bytes of an unfinished reply were taken.
  bool mid_reply() const { return text_.mid_reply(); }

 private:
  TextReplyFramer text_;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_FRAMER_H_
