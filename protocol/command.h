// The one table of memcached commands: what each is called, how its request and its reply are
// shaped, and which results it can have. Framing, pairing, labels and docs all read it here.
//
// Constant data; any thread may read it.
#ifndef MCSCOPE_PROTOCOL_COMMAND_H_
#define MCSCOPE_PROTOCOL_COMMAND_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace mcscope::protocol {

enum class Command : uint8_t {
  kGet,
  kGets,
  kGat,
  kGats,
  kSet,
  kAdd,
  kReplace,
  kAppend,
  kPrepend,
  kCas,
  kDelete,
  kIncr,
  kDecr,
  kTouch,
  kMg,
  kMs,
  kMd,
  kMa,
  kMn,
  kMe,
  kFlushAll,
  kVersion,
  kVerbosity,
  kQuit,
  kShutdown,
  kStats,
  kLru,
  kLruCrawler,
  kSlabs,
  kCacheMemlimit,
  kWatch,
  kMisbehave,
  kRefreshCerts,
  kNoop,   // binary only
  kSasl,   // binary only: list mechanisms, authenticate, step
  kOther,  // a word or an opcode that memcached does not know: it answers with one error
};
inline constexpr size_t kCommandCount = static_cast<size_t>(Command::kOther) + 1;

// What became of a request; the `result` label.
enum class Result : uint8_t {
  kHit,
  kMiss,
  kStored,
  kNotStored,
  kExists,
  kNotFound,
  kOk,
  kError,    // memcached answered with an error
  kNone,     // no reply was due (noreply, quiet) and none came
  kAborted,  // the connection ended, or was no longer framed, first
};
inline constexpr size_t kResultCount = static_cast<size_t>(Result::kAborted) + 1;

// How a text request's bytes end.
enum class RequestShape : uint8_t {
  kLine,   // at its newline
  kBlock,  // after the data block that the line announces, and its CRLF
};

struct CommandInfo {
  Command command;
  absl::string_view name;  // the word on the wire (of text), and the `command` label
  RequestShape request_shape;
  bool is_meta;      // flags in place of positional arguments; `q` in place of `noreply`
  uint16_t results;  // bit i is set when Result i can happen
};

// The row of `command`.
const CommandInfo& Info(Command command);

// The command that a request line's first word names; kOther when memcached does not know it. For
// binary opcodes see binary_header.h.
Command FindCommand(absl::string_view word);

absl::string_view Name(Result result);

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_COMMAND_H_
