#include "proxy/session.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "proxy/io/clock.h"

namespace mcscope {
namespace {

using metrics::CloseCause;
using metrics::Side;
using protocol::OpaqueReason;
using protocol::StepKind;

// Requests are small and each costs memory while under way: a read of this size bounds how many one
// turn can bring. Of a large value that is arriving, more is read, but not beyond its end.
constexpr size_t kRequestReadSize = 64 << 10;
// When only the CRLF of a value too large to hold is missing, this much of the value waits for it.
constexpr size_t kTailSize = 4 << 10;
constexpr uint64_t kCrlfSize = 2;

CloseCause CauseOfConnectError(int error) {
  switch (error) {
    case ECONNREFUSED:
    case ENOENT:
      return CloseCause::kUpstreamRefused;
    case ETIMEDOUT:
      return CloseCause::kConnectTimeout;
    case EMFILE:
    case ENFILE:
      return CloseCause::kDescriptorLimit;
    default:
      return CloseCause::kUpstreamUnreachable;
  }
}

}  // namespace

Session::Session(WorkerContext* context, const RouteContext* route, io::Socket client, int lot)
    : context_(context),
      route_(route),
      stream_(context->loop, std::move(client), this),
      link_(context, route, this),
      lot_(static_cast<int8_t>(lot)) {
  route_->recorder->SessionOpened();
}

void Session::Start() {
  stream_.socket().SetKeepAlive();
  const int error = link_.Connect();
  if (error != 0) return ConnectFailed(error);
  AdoptSettings();
  UpdateReads();
}

// Settings hold from a session's next request on; this is only called between two.
void Session::AdoptSettings() {
  if (settings_version_ == context_->settings_version) return;
  const bool first = settings_version_ == 0;
  settings_version_ = context_->settings_version;
  arm_ = context_->settings.ArmOf(lot_);
  const Treatments next = context_->settings.TreatmentsOf(arm_);
  if (first || next.nodelay != treatments_.nodelay) {
    if (!stream_.socket().SetNoDelay(next.nodelay)) {
      route_->recorder->NoDelayFailed(Side::kClient);
    }
    link_.ApplyNoDelay(next.nodelay);
  }
  if (!first && treatments_.quickack && !next.quickack) {
    stream_.socket().SetQuickAck(false);
    link_.CancelQuickAck();
  }
  treatments_ = next;
}

size_t Session::ReadSize() const {
  return static_cast<size_t>(
      std::clamp<uint64_t>(framer_.missing(), kRequestReadSize, WorkerContext::kScratchSize));
}

void Session::OnReadable() {
  char* const scratch = context_->scratch.get();
  const io::IoResult got = stream_.Recv(scratch, ReadSize());
  if (got.error == EAGAIN || got.error == EINTR) return;
  if (got.error != 0) return Close(CloseCause::kClientReset, /*reset=*/true);
  if (got.bytes == 0) return ClientEnded();
  const int64_t now = io::NowNs();
  route_->recorder->Received(Side::kClient, got.bytes);
  const absl::string_view bytes(scratch, got.bytes);
  if (tunnel_) {
    AdoptSettings();
    return Forward(bytes);
  }
  const bool value_held = !hold_.empty() && framer_.missing() > 0;
  const Framed framed = Frame(bytes, now);
  const bool incomplete = framer_.mid_request();
  // Behind a request that may stay silent, too, the client's kernel may hold the next one.
  const bool waits_for_ack = !tunnel_ && (incomplete || !framed.reply_due);
  if (waits_for_ack && treatments_.quickack && stream_.socket().SetQuickAck(true)) {
    route_->recorder->QuickAckSent(Side::kClient);
  }
  if (!tunnel_ && !incomplete) return Forward(bytes);
  if (value_held && framed.first_end > 0) return ForwardApart(bytes, framed);
  if (tunnel_) return Forward(bytes);
  HoldOrForward(bytes, framed.first_end > 0);
}

void Session::Begin(int64_t now) {
  AdoptSettings();
  arriving_ = {};
  arriving_.first_read = arriving_.last_read = now;
  arriving_.reads = 1;
}

void Session::Continue(int64_t now) {
  if (!arriving_.stalled && now - arriving_.last_read >= kStallNs) {
    arriving_.stalled = true;
    route_->recorder->Stalled(metrics::Leg::kClientRead, arm_);
  }
  arriving_.last_read = now;
  ++arriving_.reads;
}

Session::Framed Session::Frame(absl::string_view bytes, int64_t now) {
  Framed framed;
  // Where the first of `bytes` will stand in the stream towards memcached.
  const uint64_t base = link_.accepted() + hold_.size();
  if (framer_.mid_request()) Continue(now);
  size_t used = 0;
  while (used < bytes.size()) {
    if (!framer_.mid_request()) Begin(now);
    if (link_.full()) {
      BecomeTunnel(OpaqueReason::kUnsure);
      break;
    }
    const protocol::RequestStep step = framer_.Next(bytes.substr(used));
    used += step.used;
    if (step.kind == StepKind::kPartial) break;
    if (step.kind == StepKind::kOpaque) {
      BecomeTunnel(step.reason);
      break;
    }
    framed.last_end = used;
    if (framed.first_end == 0) framed.first_end = used;
    framed.reply_due = !arriving_.answered && step.request.answer == protocol::Answer::kAlways;
    if (arriving_.answered) continue;
    Exchange& exchange = link_.Expect();
    exchange.request = step.request;
    exchange.arm = arm_;
    exchange.reads = arriving_.reads;
    exchange.request_end = base + used;
    exchange.timeline.first_read = arriving_.first_read;
    exchange.timeline.last_read = arriving_.last_read;
    if (step.request.command == protocol::Command::kQuit) said_quit_ = true;
  }
  return framed;
}

// A read that also completed requests goes on whole, as it came: what memcached has got decides
// which replies it withholds, so the client's own chunks are kept there. Only bytes that bring
// memcached nothing to act on are held.
void Session::HoldOrForward(absl::string_view bytes, bool completed) {
  const bool may_hold = treatments_.coalesce && !completed && framer_.holdable();
  if (!may_hold) return Forward(bytes);
  if (!arriving_.streaming && hold_.size() + bytes.size() <= context_->limits.hold_limit) {
    return Hold(bytes);
  }
  arriving_.streaming = true;
  const uint64_t missing = framer_.missing();
  const size_t tail = missing > 0 && missing <= kCrlfSize
                          ? std::min({bytes.size(), kTailSize, context_->limits.hold_limit})
                          : 0;
  Forward(bytes.substr(0, bytes.size() - tail));
  if (tail > 0) Hold(bytes.substr(bytes.size() - tail));
}

// memcached reads the rest of a value straight from its socket, exactly its bytes, and answers
// before it looks at what follows. The end of a value whose beginning was held must not reach it
// together with the beginning of a request that is incomplete: it would find both in one read, and
// withhold the answers. So what follows the value stays here, until it is whole or memcached has
// answered.
void Session::ForwardApart(absl::string_view bytes, const Framed& framed) {
  const absl::string_view rest = bytes.substr(framed.first_end);
  Forward(bytes.substr(0, framed.first_end));
  arriving_.forwarded = false;  // that was the request before it
  if (closed_) return;
  Hold(rest);
  const bool may_hold = !tunnel_ && framed.last_end == framed.first_end && treatments_.coalesce &&
                        framer_.holdable() && rest.size() <= context_->limits.hold_limit;
  deferred_ = !may_hold;
  SendDeferred();
  UpdateReads();
}

void Session::SendDeferred() {
  if (!deferred_ || !link_.Settled()) return;
  deferred_ = false;
  Forward({});
  if (client_ended_) link_.FinishWrites();
}

void Session::Hold(absl::string_view bytes) {
  if (hold_.empty()) hold_ = context_->holds.Take();
  hold_.append(bytes.data(), bytes.size());
}

void Session::Forward(absl::string_view bytes) {
  if (hold_.empty()) {
    link_.Forward(bytes, {});
  } else {
    link_.Forward(hold_, bytes);
    context_->holds.Give(std::move(hold_));
    hold_ = {};
  }
  arriving_.forwarded = true;
  UpdateReads();
}

void Session::BecomeTunnel(OpaqueReason reason) {
  if (tunnel_) return;
  tunnel_ = true;
  route_->recorder->TunnelOpened(reason);
}

void Session::RepliesLost(OpaqueReason reason) {
  BecomeTunnel(reason);
  deferred_ = !hold_.empty();
  SendDeferred();
}

void Session::ClientEnded() {
  client_ended_ = true;
  UpdateReads();
  if (hold_.empty() || arriving_.forwarded) {
    // memcached has the request's beginning already, and may withhold answers because of it.
    if (!hold_.empty()) Forward({});
    return link_.FinishWrites();
  }
  deferred_ = true;
  SendDeferred();
}

void Session::Deliver(absl::string_view bytes) {
  if (closed_) return;
  const io::IoResult result = stream_.Write(bytes);
  if (result.error != 0) return Close(CloseCause::kClientReset, /*reset=*/true);
  if (result.bytes > 0) route_->recorder->Written(Side::kClient, result.bytes);
  link_.ReplyBytesHanded();
  LinkProgressed();
  link_.UpdateReads();
}

void Session::OnFlushed(size_t bytes, int error) {
  if (error != 0) return Close(CloseCause::kClientReset, /*reset=*/true);
  route_->recorder->Written(Side::kClient, bytes);
  link_.ReplyBytesHanded();
  if (stream_.pending() > 0) return;
  if (ending_) return Close(end_cause_, end_reset_);
  LinkProgressed();
  link_.UpdateReads();
}

void Session::OnConnected(int) {}  // the client's side is connected from the start

void Session::UpstreamEnded(CloseCause cause, bool reset) {
  if (closed_ || ending_) return;
  if (client_ended_ || said_quit_) {
    cause = CloseCause::kClientClosed;
  } else if (reset || !link_.idle()) {
    context_->upstream_failed(*route_, cause, reset ? ECONNRESET : 0);
  }
  if (stream_.pending() == 0) return Close(cause, reset);
  ending_ = true;
  end_cause_ = cause;
  end_reset_ = reset;
  UpdateReads();
  link_.UpdateReads();
}

void Session::ConnectFailed(int error) {
  const CloseCause cause = CauseOfConnectError(error);
  context_->upstream_failed(*route_, cause, error);
  Close(cause, /*reset=*/cause == CloseCause::kUpstreamRefused);
}

void Session::LinkProgressed() {
  if (closed_) return;
  SendDeferred();
  UpdateReads();
  if (draining_) FinishDrain();
}

bool Session::AnsweredEarly(const protocol::Reply& reply) {
  if (tunnel_ || !framer_.mid_request() || !arriving_.forwarded || arriving_.answered) return false;
  arriving_.answered = true;
  protocol::Request request;
  request.command = framer_.command();
  if (!protocol::CanAnswer(request, reply)) return false;
  route_->recorder->ExchangeAnsweredEarly(request.command, protocol::ResultOf(request, reply),
                                          arm_);
  return true;
}

void Session::UpdateReads() {
  const bool wanted =
      !client_ended_ && !ending_ && !deferred_ && !(draining_ && tunnel_) && link_.Accepts();
  const bool resumed = stream_.WatchReads(wanted);
  // Time in which nobody read is no stall of the client's.
  if (resumed && framer_.mid_request()) arriving_.last_read = io::NowNs();
}

void Session::Drain() {
  draining_ = true;
  FinishDrain();
}

void Session::FinishDrain() {
  // Nobody can tell where a tunnel's exchanges end: what has been read is passed on, and no more.
  const bool asking = !tunnel_ && (framer_.mid_request() || !link_.idle());
  const bool busy = asking || stream_.pending() > 0 || link_.pending() > 0;
  if (!busy) return Close(CloseCause::kDrain, /*reset=*/false);
  UpdateReads();
  link_.UpdateReads();
}

void Session::Close(CloseCause cause, bool reset) {
  if (closed_) return;
  closed_ = true;
  if (!tunnel_ && framer_.mid_request() && !arriving_.answered) {
    route_->recorder->ExchangeAborted(framer_.command(), arm_);
  }
  if (!hold_.empty()) context_->holds.Give(std::move(hold_));
  link_.Close(reset);
  stream_.Close(reset);
  route_->recorder->SessionClosed(cause);
  context_->closed(this);
}

}  // namespace mcscope
