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

#include "metrics/recorder.h"
#include "proxy/exchange.h"
#include "proxy/hold_pool.h"
#include "proxy/io/address.h"
#include "proxy/io/loop.h"
#include "proxy/limits.h"
#include "proxy/settings.h"

namespace mcscope {

class Session;

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
  // Tells it why a connection to memcached failed, for the log; error 0: it closed although it owed
  // an answer.
  std::function<void(const RouteContext&, metrics::CloseCause, int error)> upstream_failed;
};

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_CONTEXT_H_
