#ifndef MCSCOPE_PROXY_HOLD_POOL_H_
#define MCSCOPE_PROXY_HOLD_POOL_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mcscope {

// Hold buffers, kept for reuse so that a client which splits every request costs no allocation.
//
// Owner: the worker; its thread.
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

}  // namespace mcscope

#endif  // MCSCOPE_PROXY_HOLD_POOL_H_
