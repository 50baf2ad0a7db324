// A block of data whose length was announced, and the CRLF at its end, as it passes by in pieces.
// Used for the values of requests and of replies alike; it keeps none of the bytes.
//
// Owner: a framer. Used by one thread.
#ifndef MCSCOPE_PROTOCOL_DATA_BLOCK_H_
#define MCSCOPE_PROTOCOL_DATA_BLOCK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace mcscope::protocol {

class DataBlock {
 public:
  DataBlock() = default;
  // `size` includes the CRLF.
  explicit DataBlock(uint64_t size) : missing_(size) {}

  // Takes what belongs to the block from the front of `window`; returns how many bytes.
  size_t Take(absl::string_view window) {
    const size_t taken = static_cast<size_t>(std::min<uint64_t>(missing_, window.size()));
    // The bytes with 2 and 1 missing are the end.
    if (missing_ >= 2 && missing_ - taken < 2) {
      ends_well_ = window[static_cast<size_t>(missing_ - 2)] == '\r';
    }
    if (missing_ >= 1 && missing_ == taken) {
      ends_well_ = ends_well_ && window[taken - 1] == '\n';
    }
    missing_ -= taken;
    return taken;
  }

  uint64_t missing() const { return missing_; }

  // Once nothing is missing: it ended with a CRLF.
  bool ends_well() const { return ends_well_; }

 private:
  uint64_t missing_ = 0;
  bool ends_well_ = true;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_DATA_BLOCK_H_
