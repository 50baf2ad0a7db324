#include "proxy/link.h"

#include <algorithm>
#include <cerrno>

#include "protocol/pairing.h"
#include "proxy/io/clock.h"
#include "proxy/session.h"

namespace mcscope {
namespace {

using metrics::CloseCause;
using metrics::Side;
using protocol::Answer;

// Exchanges under way on one session. At this many the client is not read until replies have come,
// and of quiet requests, which may stay silent for ever, the oldest count as silent.
constexpr size_t kMaxExchanges = 8192;
// What was read before may add this many; beyond it the session is no longer timed.
constexpr size_t kMostExchanges = 2 * kMaxExchanges;

}  // namespace

Link::Link(WorkerContext* context, const RouteContext* route, Session* session)
    : context_(context),
      route_(route),
      session_(session),
      stream_(context->loop, this),
      queue_(&context->exchanges) {}

int Link::Connect() { return stream_.Connect(route_->upstream, context_->limits.connect_timeout); }

void Link::OnConnected(int error) {
  if (error != 0) return session_->ConnectFailed(error);
  connected_ = true;
  stream_.socket().SetKeepAlive();
  UpdateReads();
}

void Link::ApplyNoDelay(bool on) {
  if (!stream_.socket().SetNoDelay(on)) route_->recorder->NoDelayFailed(Side::kUpstream);
}

void Link::Forward(absl::string_view head, absl::string_view tail) {
  if (writes_failed_) return;
  const io::IoResult result = stream_.Write(head, tail);
  if (result.error != 0) {
    // memcached has closed its side, perhaps with an answer: reading tells how it ended.
    writes_failed_ = true;
    return;
  }
  if (result.bytes > 0) {
    route_->recorder->Written(Side::kUpstream, result.bytes);
    StampHanded();
  }
}

void Link::OnFlushed(size_t bytes, int error) {
  if (error != 0) {
    writes_failed_ = true;
  } else {
    route_->recorder->Written(Side::kUpstream, bytes);
    StampHanded();
  }
  session_->LinkProgressed();
}

void Link::FinishWrites() { stream_.FinishWrites(); }

bool Link::Accepts() const { return stream_.pending() == 0 && queue_.size() < kMaxExchanges; }

bool Link::full() const { return queue_.size() >= kMostExchanges; }

bool Link::Settled() {
  for (size_t i = paired_; i < handed_; ++i) {
    if (queue_[i].request.answer == Answer::kAlways) return false;
  }
  return stream_.pending() == 0;
}

bool Link::idle() {
  for (size_t i = 0; i < queue_.size(); ++i) {
    if (i < paired_ || queue_[i].request.answer != Answer::kPerhaps) return false;
  }
  return stream_.pending() == 0;
}

void Link::UpdateReads() {
  const bool resumed = stream_.WatchReads(connected_ && session_->CanDeliver());
  // Time in which nobody read is no stall of memcached's.
  if (resumed && framer_.mid_reply()) last_read_ = io::NowNs();
}

void Link::OnReadable() {
  char* const scratch = context_->scratch.get();
  const io::IoResult got = stream_.Recv(scratch, WorkerContext::kScratchSize);
  if (got.error == EAGAIN || got.error == EINTR) return;
  if (got.error != 0) return session_->UpstreamEnded(CloseCause::kUpstreamReset, /*reset=*/true);
  if (got.bytes == 0) return session_->UpstreamEnded(CloseCause::kUpstreamClosed, /*reset=*/false);
  const int64_t now = io::NowNs();
  route_->recorder->Received(Side::kUpstream, got.bytes);
  const absl::string_view bytes(scratch, got.bytes);
  if (!raw_) Frame(bytes, now);
  if (!raw_ && framer_.mid_reply() && session_->treatments().quickack &&
      stream_.socket().SetQuickAck(true)) {
    route_->recorder->QuickAckSent(Side::kUpstream);
  }
  session_->Deliver(bytes);
}

void Link::Frame(absl::string_view bytes, int64_t now) {
  if (framer_.mid_reply() && !reply_stalled_ && now - last_read_ >= kStallNs) {
    reply_stalled_ = true;
    const metrics::Arm arm = paired_ < queue_.size() ? queue_[paired_].arm : session_->arm();
    route_->recorder->Stalled(metrics::Leg::kUpstreamRead, arm);
  }
  last_read_ = now;
  const uint64_t base = session_->accepted();
  size_t used = 0;
  while (used < bytes.size()) {
    if (session_->tunnel() && paired_ == queue_.size()) {
      raw_ = true;  // the replies to all that was framed are through
      return;
    }
    if (!framer_.mid_reply()) {
      reply_first_ = now;
      reply_stalled_ = false;
    }
    const protocol::ReplyStep step = framer_.Next(bytes.substr(used));
    used += step.used;
    if (step.kind == protocol::StepKind::kPartial) return;
    if (step.kind == protocol::StepKind::kOpaque) {
      return StopFraming(protocol::OpaqueReason::kReply);
    }
    if (!Pair(step.reply, now, base + used)) return;
  }
}

bool Link::Pair(const protocol::Reply& reply, int64_t now, uint64_t reply_end) {
  const size_t count = queue_.size() - paired_;
  const protocol::Pairing pairing = protocol::FindAnswered(
      reply, count,
      [this](size_t i) -> const protocol::Request& { return queue_[paired_ + i].request; });
  if (pairing.kind != protocol::Pairing::Kind::kAnswers) {
    const bool nobody = pairing.kind == protocol::Pairing::Kind::kNobody;
    const bool nobody_asked = nobody && pairing.index == count;
    if (nobody_asked && session_->AnsweredEarly(reply)) return true;
    StopFraming(nobody_asked ? protocol::OpaqueReason::kUnsolicited
                : nobody     ? protocol::OpaqueReason::kReply
                             : protocol::OpaqueReason::kUnsure);
    return false;
  }
  for (size_t i = 0; i < pairing.index; ++i) {  // silent, or its reply was thrown away
    Exchange& passed = NextPaired();
    if (passed.request.answer == Answer::kAlways) passed.result = protocol::Result::kError;
  }
  Exchange& exchange = NextPaired();
  exchange.answered = true;
  exchange.result = protocol::ResultOf(exchange.request, reply);
  exchange.timeline.reply_first = reply_first_;
  exchange.timeline.reply_last = now;
  exchange.reply_end = reply_end;
  return true;
}

// Moves the mark of paired exchanges on over the next one.
Exchange& Link::NextPaired() {
  Exchange& exchange = queue_[paired_];
  if (handed_ == paired_) {  // answered while its last bytes still wait in this process
    exchange.timeline.handed = exchange.timeline.last_read;
    ++handed_;
  }
  ++paired_;
  return exchange;
}

void Link::StampHanded() {
  if (handed_ == queue_.size()) return;
  const int64_t now = io::NowNs();
  const uint64_t handed = stream_.handed();
  while (handed_ < queue_.size() && queue_[handed_].request_end <= handed) {
    queue_[handed_++].timeline.handed = now;
  }
  SettleUnanswered();
}

// Requests that get no reply are done once they are handed over and all before them are.
void Link::SettleUnanswered() {
  while (paired_ < handed_) {
    const Answer due = queue_[paired_].request.answer;
    const bool silent = due == Answer::kNever ||
                        (due == Answer::kPerhaps && queue_.size() - paired_ >= kMaxExchanges);
    if (!silent) break;
    ++paired_;
  }
  RecordFinished();
}

void Link::ReplyBytesHanded() {
  if (paired_ > 0) SettleUnanswered();
}

void Link::RecordFinished() {
  if (paired_ == 0) return;
  const uint64_t handed = session_->handed();
  const int64_t now = io::NowNs();
  while (paired_ > 0) {
    Exchange& exchange = queue_.front();
    if (exchange.answered && exchange.reply_end > handed) return;
    if (exchange.answered) exchange.timeline.written = now;
    Record(exchange);
    queue_.PopFront();
    --paired_;
    --handed_;
  }
}

void Link::Record(const Exchange& exchange) {
  metrics::ExchangeSample sample;
  sample.command = exchange.request.command;
  sample.result = exchange.result;
  sample.arm = exchange.arm;
  sample.reads = exchange.reads;
  sample.answered = exchange.answered;
  sample.timeline = exchange.timeline;
  route_->recorder->ExchangeFinished(sample);
}

// Exchanges from `first` on will not be finished: those that may stay silent did, the others count
// as aborted.
void Link::Abandon(uint32_t first) {
  for (size_t i = first; i < queue_.size(); ++i) {
    const Exchange& exchange = queue_[i];
    const bool silent =
        i < handed_ && !exchange.answered && exchange.request.answer != Answer::kAlways;
    if (silent) {
      Record(exchange);
    } else {
      route_->recorder->ExchangeAborted(exchange.request.command, exchange.arm);
    }
  }
  queue_.Truncate(first);
  paired_ = std::min(paired_, first);
  handed_ = std::min(handed_, first);
}

void Link::StopFraming(protocol::OpaqueReason reason) {
  Abandon(paired_);  // those before are answered by bytes that are on their way
  raw_ = true;
  session_->RepliesLost(reason);
}

void Link::Close(bool reset) {
  Abandon(0);
  stream_.Close(reset);
}

}  // namespace mcscope
