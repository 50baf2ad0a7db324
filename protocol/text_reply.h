// Cuts a stream of text replies (classic and meta), which carry their own shape: see framer.h,
// whose text half this is.
//
// Owner: ReplyFramer. Used by one thread. Idle, it holds no memory but itself.
#ifndef MCSCOPE_PROTOCOL_TEXT_REPLY_H_
#define MCSCOPE_PROTOCOL_TEXT_REPLY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "protocol/data_block.h"
#include "protocol/step.h"

namespace mcscope::protocol {

class TextReplyFramer {
 public:
  // The longest line of a reply, its newline left out.
  static constexpr size_t kMaxLine = 8192;

  ReplyStep Next(absl::string_view window);

  bool mid_reply() const { return state_ != State::kIdle && state_ != State::kOpaque; }

 private:
  enum class State : uint8_t {
    kIdle,    // between replies
    kFirst,   // in the first line of a reply
    kValues,  // in a line after a value: another value's, or the end
    kStats,   // in a line of statistics
    kBlock,   // in a value
    kOpaque,  // for good
  };
  // What a piece led to; kMore: more belongs to the reply.
  enum class Progress : uint8_t { kMore, kComplete, kOpaque };

  Progress Advance(absl::string_view window, size_t* used);
  size_t FindLineEnd(absl::string_view bytes) const;
  Progress ReadLine(absl::string_view line);
  Progress ReadFirst(absl::string_view line);
  Progress ReadAfterValue(absl::string_view line);
  Progress StartBlock(absl::string_view line, size_t length_at);
  Progress FinishBlock();

  State state_ = State::kIdle;
  Reply reply_;
  DataBlock block_;
  std::unique_ptr<std::string> line_;  // the bytes so far of a line under way
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_TEXT_REPLY_H_
