#include "metrics/leg.h"

#include <algorithm>

namespace mcscope::metrics {
namespace {

// A moment can seem to lie before the one that caused it: a reply that overtakes the end of its own
// request, or a pipelined request whose hand-over was noted late. It then counts as simultaneous.
int64_t Advance(int64_t moment, int64_t* previous) {
  const int64_t clamped = std::max(moment, *previous);
  const int64_t duration = clamped - *previous;
  *previous = clamped;
  return duration;
}

}  // namespace

absl::string_view Name(Leg leg) {
  switch (leg) {
    case Leg::kClientRead:
      return "client_read";
    case Leg::kRequestQueue:
      return "request_queue";
    case Leg::kUpstreamWait:
      return "upstream_wait";
    case Leg::kUpstreamRead:
      return "upstream_read";
    case Leg::kClientWrite:
      return "client_write";
  }
  return "";
}

Durations AnsweredDurations(const Timeline& timeline) {
  Durations durations;
  int64_t moment = timeline.first_read;
  durations.leg = {Advance(timeline.last_read, &moment), Advance(timeline.handed, &moment),
                   Advance(timeline.reply_first, &moment), Advance(timeline.reply_last, &moment),
                   Advance(timeline.written, &moment)};
  durations.total = moment - timeline.first_read;
  durations.overhead = durations.leg[static_cast<size_t>(Leg::kRequestQueue)] +
                       durations.leg[static_cast<size_t>(Leg::kClientWrite)];
  return durations;
}

Durations UnansweredDurations(const Timeline& timeline) {
  Durations durations;
  int64_t moment = timeline.first_read;
  durations.leg = {Advance(timeline.last_read, &moment), Advance(timeline.handed, &moment)};
  durations.total = moment - timeline.first_read;
  durations.overhead = durations.leg[static_cast<size_t>(Leg::kRequestQueue)];
  return durations;
}

}  // namespace mcscope::metrics
