// Reads a recorder from any thread, while its worker goes on writing.
#ifndef MCSCOPE_METRICS_RECORDER_READER_H_
#define MCSCOPE_METRICS_RECORDER_READER_H_

#include <cstdint>

#include "metrics/counts.h"
#include "metrics/labels.h"
#include "metrics/recorder.h"
#include "protocol/command.h"

namespace mcscope::metrics {

// A view: as long as the recorder lives. Each Add reads every number once; it adds, so that calls
// for several workers give their sum.
class RecorderReader {
 public:
  explicit RecorderReader(const Recorder* recorder) : recorder_(*recorder) {}

  void AddTo(RouteCounts<uint64_t>* sum) const;
  // False, and nothing added, when the worker has not seen `command` on `arm`.
  bool AddTo(protocol::Command command, Arm arm, CommandCounts<uint64_t>* sum) const;
  // The slot of (command, arm), or null when it has not been seen.
  const CommandSlot* Slot(protocol::Command command, Arm arm) const;

 private:
  const Recorder& recorder_;
};

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_RECORDER_READER_H_
