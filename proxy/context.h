// What a worker lends to its sessions and links: memory, settings, limits, and where to record.
//
// Owner: the worker; outlives its sessions. The worker's thread.
#ifndef MCSCOPE_PROXY_CONTEXT_H_
#define MCSCOPE_PROXY_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "metrics/recorder.h"
#include "proxy/exchange.h"
#include "proxy/io/address.h"
#include "proxy/io/loop.h"
#include "proxy/settings.h"

namespace mcscope {

class Session;

// Limits of one session, from options.
struct SessionLimits {
  size_t hold_limit = 64 << 10;  // bytes of an incomplete request kept back
  absl::Duration connect_timeout = absl::Seconds(2);
};

// Hold buffers, kept for reuse so that a client which splits every request costs no allocation.
class HoldPool {
 public:
  std::string Take() {
    if (kept_.empty()) return {};
    std::string buffer = std::move(kept_.back());
    kept_.pop_back();
    kept_bytes_ -= buffer.capacity();
    return buffer;
  }
  void Give(std::string buffer) {
    if (kept_bytes_ + buffer.capacity() > kMaxKeptBytes) return;
    buffer.clear();
    kept_bytes_ += buffer.capacity();
    kept_.push_back(std::move(buffer));
  }

 private:
  static constexpr size_t kMaxKeptBytes = 1 << 20;
  std::vector<std::string> kept_;
  size_t kept_bytes_ = 0;
};

// One route as a worker sees it.
struct RouteContext {
  std::string name;
  io::SocketAddress upstream;
  metrics::Recorder* recorder;  // this worker's
};

struct WorkerContext {
  io::Loop* loop = nullptr;
  SessionLimits limits;

  // The current settings; `settings_version` grows with each change.
  Settings settings;
  uint64_t settings_version = 1;

  // Where every recv of this worker lands. Its contents live until the next recv.
  static constexpr size_t kScratchSize = 256 << 10;
  std::unique_ptr<char[]> scratch{new char[kScratchSize]};

  ExchangePool exchanges;
  HoldPool holds;

  // Tells the worker that a session has closed and may be deleted at the end of the turn.
  std::function<void(Session*)> closed;
  // Tells it why a connection to memcached failed, for the log.
  std::function<void(const RouteContext&, metrics::CloseCause, int error)> upstream_failed;
};

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_CONTEXT_H_
