// The memcached side: one connection to memcached, the queue of exchanges under way on it, and the
// framing of its replies.
//
// This is a dedicated link: its session owns it, and they live and end together.
//
//   written          paired             handed over         expected
//      |  reply read,    |  with memcached,   |  waiting for       |
//      v  client slow    v  unanswered        v  the kernel        v
//   [ 0 ........... paired_ ............ handed_ ........... queue_.size() ]
//
// Owner: the session. The worker's thread.
#ifndef MCSCOPE_PROXY_LINK_H_
#define MCSCOPE_PROXY_LINK_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "protocol/framer.h"
#include "proxy/context.h"
#include "proxy/exchange.h"
#include "proxy/io/stream.h"

namespace mcscope {

class Link final : private io::StreamHandler {
 public:
  Link(WorkerContext* context, const RouteContext* route, Session* session);

  // Starts to connect: 0, or the errno of an immediate failure. Later failures come to the session.
  int Connect();

  // Queues an exchange, for the caller to fill in, whose request's bytes go to Forward() next.
  Exchange& Expect() { return queue_.Push(); }

  // Writes `head` and `tail` towards memcached in one write.
  void Forward(absl::string_view head, absl::string_view tail);

  // The client has ended its stream: so does the link, after what is pending.
  void FinishWrites();

  // The client's kernel took bytes: records the exchanges whose replies are through.
  void ReplyBytesHanded();

  // Whether the session may read more from its client.
  bool Accepts() const;
  // No more exchanges may be expected.
  bool full() const;
  // memcached has all that was forwarded, and owes no answer to it.
  bool Settled();
  // Nothing is under way (a quiet request that stayed silent so far doesn't count).
  bool idle();
  // Offset, in the bytes towards memcached, of the next byte given to Forward().
  uint64_t accepted() const { return stream_.accepted(); }
  // Bytes that memcached's socket did not take yet.
  size_t pending() const { return stream_.pending(); }
  // (Un)watches replies as the session can take them.
  void UpdateReads();
  void ApplyNoDelay(bool on);
  void CancelQuickAck() { stream_.socket().SetQuickAck(false); }

  // Counts what is unfinished and closes the connection.
  void Close(bool reset);

 private:
  void OnReadable() override;
  void OnFlushed(size_t bytes, int error) override;
  void OnConnected(int error) override;

  void Frame(absl::string_view bytes, int64_t now);
  bool Pair(const protocol::Reply& reply, int64_t now, uint64_t reply_end);
  Exchange& NextPaired();
  void StampHanded();
  void SettleUnanswered();
  void RecordFinished();
  void Record(const Exchange& exchange);
  void Abandon(uint32_t first);
  // Replies can't be told apart any more.
  void StopFraming(protocol::OpaqueReason reason);

  WorkerContext* context_;
  const RouteContext* route_;
  Session* session_;
  io::Stream stream_;
  protocol::ReplyFramer framer_;
  ExchangeQueue queue_;
  uint32_t paired_ = 0;
  uint32_t handed_ = 0;
  int64_t reply_first_ = 0;  // when the first byte of the reply being read arrived
  int64_t last_read_ = 0;
  bool connected_ = false;
  bool writes_failed_ = false;  // memcached takes no more; what it said is still read
  bool raw_ = false;            // replies are not framed
  bool reply_stalled_ = false;  // the reply being read has been counted as stalled
};

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_LINK_H_
