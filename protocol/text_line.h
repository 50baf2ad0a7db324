// What one whole request line of the text protocol (classic and meta) asks, and how its request
// goes on after it. This mirrors memcached 1.6.18's own reading, malformed lines included: which
// errors come before the data block and leave it to run as commands, which come after it, and which
// are silenced by `noreply`.
//
// Pure function.
#ifndef MCSCOPE_PROTOCOL_TEXT_LINE_H_
#define MCSCOPE_PROTOCOL_TEXT_LINE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "protocol/request.h"
#include "protocol/step.h"

namespace mcscope::protocol {

struct TextLine {
  Request request;
  uint64_t block = 0;                  // bytes of the data block that follows, its CRLF included
  std::optional<OpaqueReason> opaque;  // set: what this line starts can not be framed
};

// Reads a line as RequestText() gives it.
TextLine ReadTextLine(absl::string_view text);

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_TEXT_LINE_H_
