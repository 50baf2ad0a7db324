#include "protocol/reply.h"

#include <array>
#include <initializer_list>

namespace mcscope::protocol {
namespace {

// What an answer with a given code makes of the requests of one kind. kAborted stands for "no such
// answer exists": it is never the result of an answer.
constexpr Result kImpossible = Result::kAborted;
using Results = std::array<Result, kReplyCodeCount>;

struct Entry {
  ReplyCode code;
  Result result;
};

constexpr Results Make(std::initializer_list<Entry> entries) {
  Results results = {};
  for (Result& result : results) result = kImpossible;
  results[static_cast<size_t>(ReplyCode::kError)] = Result::kError;
  for (const Entry& entry : entries) results[static_cast<size_t>(entry.code)] = entry.result;
  return results;
}

constexpr Results kFetch =
    Make({{ReplyCode::kEnd, Result::kMiss}, {ReplyCode::kValues, Result::kHit}});
constexpr Results kStore = Make({{ReplyCode::kStored, Result::kStored},
                                 {ReplyCode::kNotStored, Result::kNotStored},
                                 {ReplyCode::kExists, Result::kExists},
                                 {ReplyCode::kNotFound, Result::kNotFound}});
// The binary protocol spells NOT_STORED in its own way for these.
constexpr Results kAdd = Make({{ReplyCode::kStored, Result::kStored},
                               {ReplyCode::kNotStored, Result::kNotStored},
                               {ReplyCode::kExists, Result::kNotStored}});
constexpr Results kReplace = Make({{ReplyCode::kStored, Result::kStored},
                                   {ReplyCode::kNotStored, Result::kNotStored},
                                   {ReplyCode::kNotFound, Result::kNotStored}});
constexpr Results kDelete = Make({{ReplyCode::kDeleted, Result::kOk},
                                  {ReplyCode::kExists, Result::kExists},
                                  {ReplyCode::kNotFound, Result::kNotFound}});
constexpr Results kArithmetic = Make({{ReplyCode::kNumber, Result::kOk},
                                      {ReplyCode::kNotStored, Result::kNotStored},
                                      {ReplyCode::kExists, Result::kExists},
                                      {ReplyCode::kNotFound, Result::kNotFound}});
constexpr Results kTouch =
    Make({{ReplyCode::kTouched, Result::kOk}, {ReplyCode::kNotFound, Result::kNotFound}});
// OK stands for HD when memcached runs with its option meta_response_old.
constexpr Results kMetaGet = Make({{ReplyCode::kHd, Result::kHit},
                                   {ReplyCode::kVa, Result::kHit},
                                   {ReplyCode::kOk, Result::kHit},
                                   {ReplyCode::kEn, Result::kMiss}});
constexpr Results kMetaSet = Make({{ReplyCode::kHd, Result::kStored},
                                   {ReplyCode::kOk, Result::kStored},
                                   {ReplyCode::kNs, Result::kNotStored},
                                   {ReplyCode::kEx, Result::kExists},
                                   {ReplyCode::kNf, Result::kNotFound}});
constexpr Results kMetaChange = Make({{ReplyCode::kHd, Result::kOk},
                                      {ReplyCode::kVa, Result::kOk},
                                      {ReplyCode::kOk, Result::kOk},
                                      {ReplyCode::kNs, Result::kNotStored},
                                      {ReplyCode::kEx, Result::kExists},
                                      {ReplyCode::kNf, Result::kNotFound}});
constexpr Results kMetaNoop = Make({{ReplyCode::kMn, Result::kOk}});
constexpr Results kMetaDebug =
    Make({{ReplyCode::kMe, Result::kHit}, {ReplyCode::kEn, Result::kMiss}});
constexpr Results kVersion = Make({{ReplyCode::kVersion, Result::kOk}});
constexpr Results kStats = Make({{ReplyCode::kStats, Result::kOk},
                                 {ReplyCode::kEnd, Result::kOk},
                                 {ReplyCode::kReset, Result::kOk},
                                 {ReplyCode::kOk, Result::kOk}});
constexpr Results kOk = Make({{ReplyCode::kOk, Result::kOk}});
// These refuse with words of their own: BUSY, BADCLASS, MEMLIMIT_TOO_SMALL, ...
constexpr Results kOkOrRefusal =
    Make({{ReplyCode::kOk, Result::kOk}, {ReplyCode::kOther, Result::kError}});
constexpr Results kErrors = Make({});

const Results& ResultsOf(Command command) {
  switch (command) {
    case Command::kGet:
    case Command::kGets:
    case Command::kGat:
    case Command::kGats:
      return kFetch;
    case Command::kAdd:
      return kAdd;
    case Command::kReplace:
      return kReplace;
    case Command::kSet:
    case Command::kAppend:
    case Command::kPrepend:
    case Command::kCas:
      return kStore;
    case Command::kDelete:
      return kDelete;
    case Command::kIncr:
    case Command::kDecr:
      return kArithmetic;
    case Command::kTouch:
      return kTouch;
    case Command::kMg:
      return kMetaGet;
    case Command::kMs:
      return kMetaSet;
    case Command::kMd:
    case Command::kMa:
      return kMetaChange;
    case Command::kMn:
      return kMetaNoop;
    case Command::kMe:
      return kMetaDebug;
    case Command::kVersion:
      return kVersion;
    case Command::kStats:
      return kStats;
    case Command::kLruCrawler:
    case Command::kSlabs:
    case Command::kCacheMemlimit:
      return kOkOrRefusal;
    case Command::kFlushAll:
    case Command::kVerbosity:
    case Command::kLru:
    case Command::kMisbehave:
    case Command::kRefreshCerts:
    case Command::kQuit:  // in binary; in text it gets no answer
    case Command::kNoop:
    case Command::kSasl:
    case Command::kOther:
      return kOk;
    case Command::kShutdown:
    case Command::kWatch:
      return kErrors;
  }
  return kErrors;
}

// A quiet binary request is answered unless all went as hoped, or nothing was found.
bool BreaksBinarySilence(const Request& request, const Reply& reply) {
  switch (ResultOf(request, reply)) {
    case Result::kStored:
    case Result::kOk:
    case Result::kMiss:
      return false;
    default:
      return true;
  }
}

// May memcached break the silence of a quiet request with `reply`?
bool BreaksSilence(const Request& request, const Reply& reply) {
  if (request.dialect == Dialect::kBinary) return BreaksBinarySilence(request, reply);
  switch (reply.error) {
    case ErrorKind::kTooLarge:
      return request.command == Command::kMs;
    case ErrorKind::kServer:
      return true;
    case ErrorKind::kClient:
      // A well-formed `ma` still finds values that are no numbers.
      return request.refused || request.command == Command::kMa;
    case ErrorKind::kGeneric:
      return request.command == Command::kRefreshCerts;
    case ErrorKind::kNone:
      break;
  }
  if (reply.code == ReplyCode::kEn) return false;
  const bool success =
      reply.code == ReplyCode::kHd || reply.code == ReplyCode::kVa || reply.code == ReplyCode::kOk;
  if (success && request.command != Command::kMg && !request.creates) return false;
  return RepeatsWhatWasAsked(request, reply);
}

}  // namespace

bool RepeatsWhatWasAsked(const Request& request, const Reply& reply) {
  if (request.dialect == Dialect::kBinary) {
    // Errors do without the key, and so does the miss of a GETK without one.
    const bool same_key = reply.key_hash == 0 || request.key_hash == reply.key_hash;
    return request.opcode == reply.opcode && request.opaque_hash == reply.opaque_hash && same_key;
  }
  return (request.opaque_hash == 0 || request.opaque_hash == reply.opaque_hash) &&
         (request.key_hash == 0 || request.key_hash == reply.key_hash);
}

bool CanAnswer(const Request& request, const Reply& reply) {
  if (request.answer == Answer::kNever || request.dialect != reply.dialect) return false;
  if (ResultOf(request, reply) == kImpossible) return false;
  if (request.dialect == Dialect::kBinary && !RepeatsWhatWasAsked(request, reply)) return false;
  return request.answer == Answer::kAlways || BreaksSilence(request, reply);
}

Result ResultOf(const Request& request, const Reply& reply) {
  return ResultsOf(request.command)[static_cast<size_t>(reply.code)];
}

}  // namespace mcscope::protocol
