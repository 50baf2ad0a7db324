// Runs the framers over whole streams, chunked as a test wants, and writes down what came of it.
#ifndef MCSCOPE_TESTS_PROTOCOL_FRAMING_H_
#define MCSCOPE_TESTS_PROTOCOL_FRAMING_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protocol/framer.h"

namespace mcscope::protocol {

// Where a stream is cut into the pieces that are offered one after the other, ascending.
using Cuts = std::vector<size_t>;

Cuts EveryByte(size_t size);

template <typename Content>
struct Frame {
  std::string bytes;
  Content content;
};

// What a framer made of a stream: `frames`, then either nothing, or an unfinished rest, or a rest
// that it calls opaque.
template <typename Content>
struct Framed {
  std::vector<Frame<Content>> frames;
  std::string rest;
  bool opaque = false;
  OpaqueReason reason = OpaqueReason::kUnsure;

  // The stream, put together again.
  std::string Joined() const {
    std::string joined;
    for (const auto& frame : frames) joined += frame.bytes;
    return joined + rest;
  }
};

// Adds a test failure when a step breaks a promise of framer.h.
Framed<Request> FrameRequests(absl::string_view stream, const Cuts& cuts = {});
Framed<Reply> FrameReplies(absl::string_view stream, const Cuts& cuts = {});

// One line for each frame and for the rest; equal for equal framings.
std::string Describe(const Framed<Request>& framed);
std::string Describe(const Framed<Reply>& framed);
std::string Describe(const Request& request);
std::string Describe(const Reply& reply);

// With control bytes spelled out and long bytes shortened.
std::string Escape(absl::string_view bytes);

}  // namespace mcscope::protocol

#endif  // MCSCOPE_TESTS_PROTOCOL_FRAMING_H_
