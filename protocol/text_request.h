// Cuts a stream of text requests (classic and meta). See framer.h, whose text half this is.
//
// Owner: RequestFramer. Used by one thread. Idle, it holds no memory but itself.
#ifndef MCSCOPE_PROTOCOL_TEXT_REQUEST_H_
#define MCSCOPE_PROTOCOL_TEXT_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "protocol/data_block.h"
#include "protocol/key_scan.h"
#include "protocol/step.h"
#include "protocol/text_line.h"

namespace mcscope::protocol {

class TextRequestFramer {
 public:
  // The longest line, its newline left out, that memcached reads however it is chunked. Longer ones
  // must be fetches of many keys.
  static constexpr size_t kMaxLine = 2048;

  RequestStep Next(absl::string_view window);

  bool mid_request() const { return state_ != State::kIdle && state_ != State::kOpaque; }
  bool holdable() const;
  uint64_t missing() const { return state_ == State::kBlock ? block_.missing() : 0; }
  Command command() const { return state_ == State::kBlock ? request_.command : Command::kOther; }

 private:
  enum class State : uint8_t {
    kIdle,    // between requests
    kLine,    // in a line whose bytes so far stand in line_
    kKeys,    // in a long line of keys that scan_ follows
    kBlock,   // in the data block of request_
    kOpaque,  // for reason_, for good
  };

  // Each looks at the part of `window` from `used` on; the bytes before it are taken already.
  RequestStep StartLine(absl::string_view window);
  RequestStep ContinueLine(absl::string_view window);
  RequestStep StartKeys(absl::string_view head, absl::string_view window, size_t used);
  RequestStep ContinueKeys(absl::string_view window, size_t used);
  RequestStep FinishLine(absl::string_view bytes, absl::string_view window, size_t used);
  RequestStep ContinueBlock(absl::string_view window, size_t used);

  RequestStep Complete(const Request& request, size_t used);
  RequestStep Partial(State state, size_t used);
  RequestStep Opaque(OpaqueReason reason);

  State state_ = State::kIdle;
  OpaqueReason reason_ = OpaqueReason::kUnsure;
  Request request_;
  DataBlock block_;
  std::unique_ptr<std::string> line_;
  std::unique_ptr<KeyScan> scan_;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_TEXT_REQUEST_H_
