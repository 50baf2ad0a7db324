// A number that one thread counts up and any thread may read.
#ifndef MCSCOPE_METRICS_COUNTER_H_
#define MCSCOPE_METRICS_COUNTER_H_

#include <atomic>
#include <cstdint>

namespace mcscope::metrics {

// Single writer: Add() is a plain load and store, no locked instruction, so only the owning thread
// may call it. Get() is for any thread: never torn, possibly a few updates old. Wraps at T's width.
template <typename T>
class SingleWriterCounter {
 public:
  void Add(T n) {
    value_.store(static_cast<T>(value_.load(std::memory_order_relaxed) + n),
                 std::memory_order_relaxed);
  }
  T Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_{0};
};

using Counter = SingleWriterCounter<uint64_t>;

}  // namespace mcscope::metrics

#endif  // MCSCOPE_METRICS_COUNTER_H_
