// Where one worker writes down what it saw on one route. Single writer: the worker's thread, without
// locks, compare-exchanges or, once a command has been seen, allocation. Any other thread may read
// at any time; what it reads is a few updates old at most, never torn within one number.
//
// Owner: the worker. Counters only ever grow (the gauge of sessions is opened minus closed).
#ifndef MCSCOPE_METRICS_RECORDER_H_
#define MCSCOPE_METRICS_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "metrics/leg.h"
#include "protocol/command.h"
#include "protocol/framer.h"

namespace mcscope::metrics {

enum class Arm : uint8_t { kA, kB };
inline constexpr size_t kArmCount = 2;

enum class Side : uint8_t { kClient, kUpstream };
inline constexpr size_t kSideCount = 2;

// Why a session ended; the `cause` label.
enum class CloseCause : uint8_t {
  kClientClosed,         // the app closed in good order
  kClientReset,          // the app reset the connection, or writing to it failed
  kUpstreamClosed,       // memcached closed in good order
  kUpstreamReset,        // memcached reset the connection, or writing to it failed
  kUpstreamRefused,      // connect: ECONNREFUSED, or no such unix socket
  kUpstreamUnreachable,  // connect: any other errno
  kConnectTimeout,       // connect took longer than --connect_timeout
  kSessionLimit,         // over --max_sessions
  kDescriptorLimit,      // no file descriptor for the upstream side
  kDrain,                // the proxy is shutting down
};
inline constexpr size_t kCloseCauseCount = static_cast<size_t>(CloseCause::kDrain) + 1;

// One finished exchange.
struct ExchangeSample {
  protocol::Command command;
  protocol::Result result;
  Arm arm;
  uint32_t reads;     // recv calls that brought bytes of its request; at least 1
  bool answered;      // a reply was paired with it; else only the first two legs are meaningful
  Timeline timeline;
};

class Recorder {
 public:
  // `bounds` outlives the recorder.
  explicit Recorder(const class BucketBounds* bounds);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // --- the worker's thread ---
  void ExchangeFinished(const ExchangeSample& sample);
  // An exchange that never finished (the connection ended): counted with result aborted, in no
  // histogram.
  void ExchangeAborted(protocol::Command command, Arm arm);
  // An exchange whose reply came before its request was whole: counted, in no histogram.
  void ExchangeAnsweredEarly(protocol::Command command, protocol::Result result, Arm arm);
  void Stalled(Leg leg, Arm arm);
  void QuickAckSent(Side side);
  void Received(Side side, size_t bytes);  // one recv that brought `bytes`
  void Written(Side side, size_t bytes);   // one send that took `bytes`
  void SessionOpened();
  void SessionClosed(CloseCause cause);
  void TunnelOpened(protocol::OpaqueReason reason);
  void NoDelayFailed(Side side);

 private:
  friend class RecorderReader;
};

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_RECORDER_H_
