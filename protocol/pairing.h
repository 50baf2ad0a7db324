// Which of the requests under way a reply answers. Replies come in the order of the requests, but
// quiet requests may stay silent, and a fetch with a key that is too long may take the replies
// before it along. A wrong guess would shift all later pairs by one, so where a quiet request and
// one that is sure of an answer could have earned the same reply, the verdict is "unsure". Between
// quiet neighbours that nothing tells apart the first gets it: the counts are right then, while the
// times may be the neighbour's. Binary replies name the opcode and the opaque of their request, so
// that with them this is rare even if all opaques are the same.
//
// Pure functions.
#ifndef MCSCOPE_PROTOCOL_PAIRING_H_
#define MCSCOPE_PROTOCOL_PAIRING_H_

#include <cstddef>
#include <cstdint>

#include "protocol/reply.h"
#include "protocol/request.h"

namespace mcscope::protocol {

struct Pairing {
  enum class Kind : uint8_t {
    kAnswers,  // the request at `index`; those before it get no reply any more
    kNobody,   // no request under way can be answered so
    kUnsure,   // there are several ways to read it
  };
  Kind kind = Kind::kNobody;
  size_t index = 0;
};

// Is `request` answered whatever comes of it?
bool IsSureOfAnswer(const Request& request);

// Could memcached 1.6.18 have answered `request` with `reply`?
bool IsLikelyAnswer(const Request& request, const Reply& reply);

// How far ahead competitors for a reply are looked for, so that the time for a reply is bounded.
// memcached itself hands out the replies of a pipeline long before so many have gathered.
inline constexpr size_t kPairingLookahead = 256;

// `at(i)` is the i-th of `count` requests under way, the oldest first.
template <typename At>
Pairing FindAnswered(const Reply& reply, size_t count, const At& at) {
  size_t first = 0;
  if (reply.error == ErrorKind::kClient) {
    // Either such a fetch took the replies before it along, or the error is one of those replies.
    bool contested = false;
    for (size_t i = 0; i < count && i < kPairingLookahead; ++i) {
      if (at(i).drops_unsent_replies) {
        if (contested) return {Pairing::Kind::kUnsure, i};
        first = i;
      }
      contested = contested || IsLikelyAnswer(at(i), reply);
    }
  }
  while (first < count && !CanAnswer(at(first), reply)) {
    if (at(first).answer == Answer::kAlways) return {Pairing::Kind::kNobody, first};
    ++first;
  }
  if (first == count) return {Pairing::Kind::kNobody, first};
  if (IsSureOfAnswer(at(first))) return {Pairing::Kind::kAnswers, first};
  // It may have stayed silent, and this be the reply that a later request is sure to get.
  for (size_t i = first + 1; i < count && i - first < kPairingLookahead; ++i) {
    if (!IsSureOfAnswer(at(i))) continue;
    if (IsLikelyAnswer(at(i), reply)) return {Pairing::Kind::kUnsure, first};
    break;
  }
  return {Pairing::Kind::kAnswers, first};
}

}  // namespace mcscope::protocol

#endif  // MCSCOPE_PROTOCOL_PAIRING_H_
