// Cuts a stream of binary replies. See framer.h, whose binary half this is.
//
// Owner: ReplyFramer. Used by one thread. Idle, it holds no memory but itself.
#ifndef MCSCOPE_PROTOCOL_BINARY_REPLY_H_
#define MCSCOPE_PROTOCOL_BINARY_REPLY_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "protocol/binary_header.h"
#include "protocol/step.h"

namespace mcscope::protocol {

class BinaryReplyFramer {
 public:
  ReplyStep Next(absl::string_view window);

  bool mid_reply() const { return state_ != State::kIdle && state_ != State::kOpaque; }

 private:
  enum class State : uint8_t {
    kIdle,    // between replies
    kStats,   // between the packets of statistics, which are one reply
    kHeader,  // in a packet's header
    kBody,    // in what follows the header
    kOpaque,  // for good
  };

  void Advance(absl::string_view window, size_t* used);
  State StartBody(const BinaryHeader& header);

  State state_ = State::kIdle;
  bool goes_on_ = false;  // another packet of the reply follows this one
  Reply reply_;
  BinaryHeaderReader header_;
  BinaryBody body_;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_BINARY_REPLY_H_
