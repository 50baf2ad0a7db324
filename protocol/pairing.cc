#include "protocol/pairing.h"

namespace mcscope::protocol {
namespace {

bool IsStorage(Command command) { return Info(command).request_shape == RequestShape::kBlock; }

// Commands that read or write items, and so may find memcached out of memory.
bool UsesItems(Command command) { return command <= Command::kMa; }

// Can a request be refused although it is well-formed?
bool MayBeRefused(Command command) {
  switch (command) {
    // The stored value may be no number.
    case Command::kIncr:
    case Command::kDecr:
    case Command::kMa:
    // memcached's options may forbid it, or its arguments name what does not exist.
    case Command::kFlushAll:
    case Command::kStats:
    case Command::kLru:
    case Command::kLruCrawler:
    case Command::kSlabs:
    case Command::kCacheMemlimit:
    case Command::kShutdown:
    case Command::kRefreshCerts:
    case Command::kSasl:
    case Command::kOther:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool IsSureOfAnswer(const Request& request) {
  if (request.answer == Answer::kPerhaps) return request.refused;
  return request.answer == Answer::kAlways;
}

bool IsLikelyAnswer(const Request& request, const Reply& reply) {
  if (!CanAnswer(request, reply)) return false;
  if (request.dialect == Dialect::kBinary && request.refused) {
    // Unless memcached refuses every request, for want of authentication.
    return reply.error == ErrorKind::kGeneric || reply.error == ErrorKind::kServer;
  }
  switch (reply.error) {
    case ErrorKind::kNone:
      return RepeatsWhatWasAsked(request, reply);
    case ErrorKind::kGeneric:
    case ErrorKind::kClient:
      return request.refused || MayBeRefused(request.command);
    case ErrorKind::kTooLarge:
      return IsStorage(request.command);
    case ErrorKind::kServer:
      return request.dialect == Dialect::kBinary || UsesItems(request.command) ||
             request.command == Command::kStats;
  }
  return true;
}

}  // namespace mcscope::protocol
