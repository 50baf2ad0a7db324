// One request and its reply with the moments between them, and the queue of those under way.
//
// Owner: a link. The worker's thread.
#ifndef MCSCOPE_PROXY_EXCHANGE_H_
#define MCSCOPE_PROXY_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "metrics/leg.h"
#include "metrics/recorder.h"
#include "protocol/reply.h"
#include "protocol/request.h"

namespace mcscope {

// A gap between two reads of one request (or reply) that counts as a stall: just under the 40 ms of
// Linux's shortest delayed ACK.
inline constexpr int64_t kStallNs = 30'000'000;

struct Exchange {
  protocol::Request request;
  metrics::Arm arm = metrics::Arm::kA;  // fixed when the request's first byte is read
  bool answered = false;                // a reply was paired with it
  protocol::Result result = protocol::Result::kNone;
  uint32_t reads = 1;        // recv calls that brought bytes of the request
  uint64_t request_end = 0;  // offset, in the bytes towards memcached, behind its last byte
  uint64_t reply_end = 0;  // offset, in the bytes towards the client, behind its reply's last byte
  metrics::Timeline timeline;
};

// Memory for queues of several exchanges, kept for reuse so that no request allocates in the steady
// state.
//
// Owner: the worker; outlives its links.
class ExchangePool {
 public:
  using Block = std::unique_ptr<Exchange[]>;

  // A block of `capacity` exchanges, a power of two from kSmallest up.
  Block Take(size_t capacity);
  void Give(Block block, size_t capacity);

  static constexpr size_t kSmallest = 16;

 private:
  static constexpr size_t kLargestKept = 4096;
  static constexpr size_t kBytesKeptPerSize = 1 << 20;
  std::vector<Block>& Kept(size_t capacity);

  std::vector<Block> kept_[9];  // by size: 16, 32, ... 4096
};

// A first-in-first-out ring. One exchange at a time, the usual case, needs no memory but its own;
// more take a block from the pool until the queue is empty again.
class ExchangeQueue {
 public:
  explicit ExchangeQueue(ExchangePool* pool) : pool_(pool) {}
  ~ExchangeQueue() { Release(); }
  ExchangeQueue(const ExchangeQueue&) = delete;
  ExchangeQueue& operator=(const ExchangeQueue&) = delete;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Exchange& operator[](size_t i) { return ring_[(first_ + i) & (capacity_ - 1)]; }
  Exchange& front() { return ring_[first_]; }

  // Appends an exchange with its default values and returns it; valid until the next call.
  Exchange& Push();
  void PopFront();
  // Drops those at the back, beyond the first `size`.
  void Truncate(size_t size);

 private:
  void Grow();
  void Release();

  ExchangePool* pool_;
  Exchange only_;
  ExchangePool::Block block_;  // null: the ring is only_
  Exchange* ring_ = &only_;
  uint32_t capacity_ = 1;
  uint32_t first_ = 0;
  uint32_t size_ = 0;
};

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_EXCHANGE_H_
