// What memcached answered, and which request an answer belongs to.
#ifndef MCSCOPE_PROTOCOL_REPLY_H_
#define MCSCOPE_PROTOCOL_REPLY_H_

#include <cstddef>
#include <cstdint>

#include "protocol/command.h"
#include "protocol/request.h"

namespace mcscope::protocol {

// The word a reply begins with (or, for the values of a get, what the whole of it amounts to). A
// binary reply has that of a text reply which says the same.
enum class ReplyCode : uint8_t {
  kEnd,     // END alone: no values
  kValues,  // one or more VALUE blocks, then END
  kStored,
  kNotStored,
  kExists,
  kNotFound,
  kDeleted,
  kTouched,
  kOk,
  kNumber,  // incr and decr
  kVersion,
  kStats,  // STAT, ITEM or PREFIX lines, then END
  kReset,
  kHd,
  kVa,  // with its data block
  kEn,
  kNs,
  kEx,
  kNf,
  kMn,
  kMe,
  kError,  // any line that begins with ERROR, Error, CLIENT_ERROR or SERVER_ERROR
  kOther,  // a single line of another kind; a binary status that says nothing to its opcode
};
inline constexpr size_t kReplyCodeCount = static_cast<size_t>(ReplyCode::kOther) + 1;

// Whose fault an error says it is.
enum class ErrorKind : uint8_t {
  kNone,      // it is no error
  kGeneric,   // ERROR, Error; binary: unknown command, invalid arguments
  kClient,    // CLIENT_ERROR
  kTooLarge,  // SERVER_ERROR: the value is too large to be stored
  kServer,    // SERVER_ERROR otherwise, also in place of the END of values
};

struct Reply {
  ReplyCode code = ReplyCode::kOther;
  ErrorKind error = ErrorKind::kNone;
  Dialect dialect = Dialect::kText;
  uint8_t opcode = 0;  // binary
  // Of a meta reply: hashes of the opaque and of the key it repeats; 0 where it repeats none. Of a
  // binary reply: its opaque as it is; the hash of the key in replies of GETK, GATK and their kin.
  uint32_t opaque_hash = 0;
  uint32_t key_hash = 0;
};

// Can `reply` be the answer to `request`? For an Answer::kAlways request true means "it is its
// answer, or the pairing is lost"; for a quiet one, false means "that request stayed silent".
bool CanAnswer(const Request& request, const Reply& reply);

// Does `reply` repeat the opaque and the key that `request` asked it to repeat (and, in binary, its
// opcode)?
bool RepeatsWhatWasAsked(const Request& request, const Reply& reply);

// The `result` label of an answered request.
Result ResultOf(const Request& request, const Reply& reply);

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_REPLY_H_
