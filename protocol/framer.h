// Cuts the two byte streams of a connection into requests and replies. Sans-IO: no socket, clock or
// log. Both framers are *pulled*: the caller offers the bytes that arrived, gets one step, and
// calls again with what is left. Every byte is offered exactly once; a framer remembers what it
// must of an unfinished line (bounded), never of a data block. Time is linear in the bytes offered.
//
// The first byte of a connection picks its dialect, as in memcached: 0x80 of requests and 0x81 of
// replies mean binary. The framers here only do that and hand on.
//
// Owner: the session (requests) and the link (replies). Used by one thread.
#ifndef MCSCOPE_PROTOCOL_FRAMER_H_
#define MCSCOPE_PROTOCOL_FRAMER_H_

#include <cstddef>
#include <cstdint>
#include <variant>

#include "absl/strings/string_view.h"
#include "protocol/binary_reply.h"
#include "protocol/binary_request.h"
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
  bool mid_request() const;

  // While mid_request(): memcached waits for the rest in silence however its bytes are chunked, so
  // that holding them back can be noticed by nobody. False when its line or header is one memcached
  // refuses, or its line is over the 2,048 bytes that memcached takes without a newline (get and
  // gets excepted).
  bool holdable() const;

  // While mid_request(), with its line (or header, extras and key) whole: bytes of the value still
  // to come, a CRLF included. Else 0.
  uint64_t missing() const;

  // While mid_request(): its command; kOther until its line or header is whole.
  Command command() const;

 private:
  RequestStep Start(absl::string_view window);

  // Nothing yet, a dialect, or why this is none.
  std::variant<std::monostate, TextRequestFramer, BinaryRequestFramer, OpaqueReason> dialect_;
};

class ReplyFramer {
 public:
  // The next step over `window`, which is not empty.
  ReplyStep Next(absl::string_view window);

  // Some bytes of an unfinished reply were taken.
  bool mid_reply() const;

 private:
  std::variant<std::monostate, TextReplyFramer, BinaryReplyFramer> dialect_;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_FRAMER_H_
