// Cuts a stream of binary requests. See framer.h, whose binary half this is.
//
// Owner: RequestFramer. Used by one thread. Idle, it holds no memory but itself.
#ifndef MCSCOPE_PROTOCOL_BINARY_REQUEST_H_
#define MCSCOPE_PROTOCOL_BINARY_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "protocol/binary_header.h"
#include "protocol/step.h"

namespace mcscope::protocol {

// What one header asks, and how many bytes belong to its request. This mirrors memcached 1.6.18's
// own reading: what it refuses, what it takes for a body, and where it believes the next request.
struct BinaryRequest {
  Request request;
  uint64_t body = 0;    // bytes behind the header
  bool closes = false;  // refused for its header: memcached answers (or not) and hangs up
};

// Pure function. nullopt when memcached's reading can't be told: with a value of 2 GiB or more it
// goes on wherever another connection left off.
std::optional<BinaryRequest> ReadBinaryRequest(const BinaryHeader& header);

class BinaryRequestFramer {
 public:
  // The longest head (header, extras and key) that memcached reads; with a longer one it closes.
  static constexpr size_t kMaxHead = 16384;

  RequestStep Next(absl::string_view window);

  bool mid_request() const { return state_ == State::kHeader || state_ == State::kBody; }
  // memcached reads on in silence unless it refuses the request for its header.
  bool holdable() const { return state_ == State::kHeader || !closes_; }
  uint64_t missing() const {
    return state_ == State::kBody && body_.missing() <= value_size_ ? body_.missing() : 0;
  }
  Command command() const { return state_ == State::kBody ? request_.command : Command::kOther; }

 private:
  enum class State : uint8_t {
    kIdle,    // between requests
    kHeader,  // in a header
    kBody,    // in what follows the header of request_
    kOpaque,  // for reason_, for good
  };

  RequestStep Opaque(OpaqueReason reason);

  State state_ = State::kIdle;
  OpaqueReason reason_ = OpaqueReason::kUnsure;
  bool closes_ = false;      // of request_, while in its body
  uint32_t value_size_ = 0;  // likewise
  Request request_;
  BinaryHeaderReader header_;
  BinaryBody body_;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_BINARY_REQUEST_H_
