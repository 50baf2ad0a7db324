// What a client asked, as far as forwarding, pairing and timing need to know it.
#ifndef MCSCOPE_PROTOCOL_REQUEST_H_
#define MCSCOPE_PROTOCOL_REQUEST_H_

#include <cstdint>

#include "protocol/command.h"

namespace mcscope::protocol {

// Whether memcached will answer a request.
enum class Answer : uint8_t {
  kAlways,   // exactly one reply (which may have many parts)
  kNever,    // noreply: silence for certain; or memcached closes instead of answering
  kPerhaps,  // quiet: only some outcomes are answered (a hit of `mg q`, an error of `ms q`, ...)
};

// How a connection is spoken; its first byte decides.
enum class Dialect : uint8_t { kText, kBinary };

// A small value without views: it outlives the bytes it was read from.
struct Request {
  Command command = Command::kOther;
  Answer answer = Answer::kAlways;
  Dialect dialect = Dialect::kText;
  uint8_t opcode = 0;  // binary
  // A get-like line with a key over 250 bytes: memcached 1.6.18 throws away the replies it has not
  // sent yet, and answers with one error for all of them.
  bool drops_unsent_replies = false;
  // memcached 1.6.18 answers it (if at all) with an error: its line, data block or header is bad.
  bool refused = false;
  // A quiet `ma` that creates what is missing, and then breaks its silence.
  bool creates = false;
  // Of a meta request: hashes of the opaque and of the key that each of its replies but an error
  // repeats; 0 where it repeats none. They tell neighbouring quiet requests apart.
  // Of a binary request: its opaque as it is, which every reply repeats; the key's hash likewise.
  uint32_t opaque_hash = 0;
  uint32_t key_hash = 0;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_REQUEST_H_
