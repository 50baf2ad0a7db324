// The client side: one app connection, the framing of its requests, what of them is held back, and
// the treatments of its arm.
//
// Owner: the worker, which deletes it at the end of the turn it closed in. The worker's thread.
#ifndef MCSCOPE_PROXY_SESSION_H_
#define MCSCOPE_PROXY_SESSION_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "protocol/framer.h"
#include "proxy/context.h"
#include "proxy/io/stream.h"
#include "proxy/link.h"
#include "proxy/settings.h"

namespace mcscope {

class Session final : private io::StreamHandler {
 public:
  // `lot` in [0, 100) decides, with the settings, which arm the session is in.
  Session(WorkerContext* context, const RouteContext* route, io::Socket client, int lot);

  // Connects to memcached and begins to read. The session may close in here.
  void Start();

  // Close as soon as nothing is under way.
  void Drain();

  // Closes at once.
  void Close(metrics::CloseCause cause, bool reset);

  // Its place in the worker's table.
  uint32_t index() const { return index_; }
  void set_index(uint32_t index) { index_ = index; }

  // --- for its link ---

  // Bytes of replies for the client.
  void Deliver(absl::string_view bytes);
  // memcached has ended its stream (or reset it): so does the session, after what is pending.
  void UpstreamEnded(metrics::CloseCause cause, bool reset);
  void ConnectFailed(int error);
  // The link has handed bytes over or finished exchanges: more may be read, or the drain be over.
  void LinkProgressed();
  // A reply for which no request waits. True when it answers the request that is still arriving.
  bool AnsweredEarly(const protocol::Reply& reply);
  // Replies can't be told apart any more: from here on bytes are forwarded as they come.
  void RepliesLost(protocol::OpaqueReason reason);

  bool closed() const { return closed_; }
  bool tunnel() const { return tunnel_; }
  bool CanDeliver() const { return !ending_ && stream_.pending() == 0 && !(draining_ && tunnel_); }
  // Offset, in the bytes towards the client, of the next byte given to Deliver(), and behind the
  // last byte that the kernel took.
  uint64_t accepted() const { return stream_.accepted(); }
  uint64_t handed() const { return stream_.handed(); }
  const Treatments& treatments() const { return treatments_; }
  metrics::Arm arm() const { return arm_; }

 private:
  // The request whose bytes are arriving.
  struct Arriving {
    int64_t first_read = 0;
    int64_t last_read = 0;
    uint32_t reads = 0;
    bool stalled = false;
    bool streaming = false;  // it is more than may be held
    bool forwarded = false;  // some of its bytes have left towards memcached
    bool answered = false;   // ... and memcached answered them
  };
  // Where, in what a read brought, the first and the last request end that it completed; 0: none.
  struct Framed {
    size_t first_end = 0;
    size_t last_end = 0;
    bool reply_due = false;  // the last one is sure of a reply, which carries the ACK
  };

  void OnReadable() override;
  void OnFlushed(size_t bytes, int error) override;
  void OnConnected(int error) override;

  size_t ReadSize() const;
  void ClientEnded();
  void AdoptSettings();
  void Begin(int64_t now);
  void Continue(int64_t now);
  // Frames what a read brought.
  Framed Frame(absl::string_view bytes, int64_t now);
  void HoldOrForward(absl::string_view bytes, bool completed);
  void ForwardApart(absl::string_view bytes, const Framed& framed);
  // Forwards what is deferred once memcached has answered all before it.
  void SendDeferred();
  void BecomeTunnel(protocol::OpaqueReason reason);
  void Hold(absl::string_view bytes);
  void Forward(absl::string_view bytes);
  void UpdateReads();
  void FinishDrain();

  WorkerContext* context_;
  const RouteContext* route_;
  io::Stream stream_;
  Link link_;
  protocol::RequestFramer framer_;
  std::string hold_;  // not forwarded yet; no memory while empty
  Arriving arriving_;
  Treatments treatments_;
  uint64_t settings_version_ = 0;
  uint32_t index_ = 0;
  int8_t lot_;
  metrics::Arm arm_ = metrics::Arm::kA;
  metrics::CloseCause end_cause_ = metrics::CloseCause::kUpstreamClosed;  // while ending_
  bool end_reset_ = false;
  bool ending_ = false;    // memcached has ended; close once the client has what is pending
  bool deferred_ = false;  // what is held waits for memcached's answers, not for its own rest
  bool client_ended_ = false;
  bool said_quit_ = false;
  bool tunnel_ = false;
  bool draining_ = false;
  bool closed_ = false;
};

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_SESSION_H_
