// Where one worker writes down what it saw on one route. Single writer: the worker's thread,
// without locks, compare-exchanges or, once a command has been seen, allocation. Any other thread
// may read at any time (RecorderReader); what it reads is a few updates old at most, never torn
// within one number.
//
// Owner: the worker. Counters only ever grow (the gauge of sessions is opened minus closed). About
// 60 KiB per command seen and arm.
#ifndef MCSCOPE_METRICS_RECORDER_H_
#define MCSCOPE_METRICS_RECORDER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "metrics/bucket_bounds.h"
#include "metrics/counts.h"
#include "metrics/labels.h"
#include "metrics/leg.h"
#include "protocol/command.h"
#include "protocol/step.h"

namespace mcscope::metrics {

struct CommandSlot;

// One finished exchange.
struct ExchangeSample {
  protocol::Command command;
  protocol::Result result;
  Arm arm;
  uint32_t reads;  // recv calls that brought bytes of its request; at least 1
  bool answered;   // a reply was paired with it; else only the first two legs are meaningful
  Timeline timeline;
};

class alignas(64) Recorder {
 public:
  // `bounds` outlives the recorder.
  explicit Recorder(const BucketBounds* bounds);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // --- the worker's thread ---
  void ExchangeFinished(const ExchangeSample& sample);
  // An exchange that never finished (the connection ended, or its session became a tunnel): counted
  // with result aborted, in no histogram.
  void ExchangeAborted(protocol::Command command, Arm arm);
  // An exchange whose reply came before its request was whole: counted, in no histogram.
  void ExchangeAnsweredEarly(protocol::Command command, protocol::Result result, Arm arm);
  void Stalled(Leg leg, Arm arm);  // `leg`: one of kReadLegs
  void QuickAckSent(Side side);
  void Received(Side side, size_t bytes);  // one recv that brought `bytes`
  void Written(Side side, size_t bytes);   // one send that took `bytes`
  void SessionOpened();
  void SessionClosed(CloseCause cause);
  void TunnelOpened(protocol::OpaqueReason reason);
  void NoDelayFailed(Side side);

 private:
  friend class RecorderReader;

  CommandSlot& SlotFor(protocol::Command command, Arm arm);
  void CountOnly(protocol::Command command, protocol::Result result, Arm arm);
  void RecordAnswered(const ExchangeSample& sample, CommandSlot& slot);
  void RecordUnanswered(const ExchangeSample& sample, CommandSlot& slot);
  ArmCounts<Counter>& OfArm(Arm arm) { return counts_.arms[static_cast<size_t>(arm)]; }
  SideCounts<Counter>& OfSide(Side side) { return counts_.sides[static_cast<size_t>(side)]; }

  const BucketBounds& bounds_;
  RouteCounts<Counter> counts_;
  // By command and arm; owned; null until first seen. Stored once with release, so that a reader
  // that sees the pointer sees the slot.
  std::array<std::atomic<CommandSlot*>, protocol::kCommandCount* kArmCount> slots_ = {};
};

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_RECORDER_H_
