#include "proxy/exchange.h"

#include <utility>

namespace mcscope {

std::vector<ExchangePool::Block>& ExchangePool::Kept(size_t capacity) {
  size_t i = 0;
  for (size_t size = kSmallest; size < capacity; size *= 2) ++i;
  return kept_[i];
}

ExchangePool::Block ExchangePool::Take(size_t capacity) {
  if (capacity <= kLargestKept) {
    std::vector<Block>& kept = Kept(capacity);
    if (!kept.empty()) {
      Block block = std::move(kept.back());
      kept.pop_back();
      return block;
    }
  }
  return Block(new Exchange[capacity]);
}

void ExchangePool::Give(Block block, size_t capacity) {
  if (capacity > kLargestKept) return;
  std::vector<Block>& kept = Kept(capacity);
  if (kept.size() * capacity * sizeof(Exchange) < kBytesKeptPerSize) {
    kept.push_back(std::move(block));
  }
}

Exchange& ExchangeQueue::Push() {
  if (size_ == capacity_) Grow();
  Exchange& exchange = (*this)[size_++];
  exchange = {};
  return exchange;
}

void ExchangeQueue::PopFront() {
  first_ = (first_ + 1) & (capacity_ - 1);
  if (--size_ == 0) Release();
}

void ExchangeQueue::Truncate(size_t size) {
  size_ = static_cast<uint32_t>(size);
  if (size_ == 0) Release();
}

void ExchangeQueue::Grow() {
  const uint32_t capacity = capacity_ == 1 ? ExchangePool::kSmallest : capacity_ * 2;
  ExchangePool::Block block = pool_->Take(capacity);
  for (size_t i = 0; i < size_; ++i) block[i] = (*this)[i];
  const uint32_t size = size_;
  Release();
  block_ = std::move(block);
  ring_ = block_.get();
  capacity_ = capacity;
  size_ = size;
}

void ExchangeQueue::Release() {
  if (block_ != nullptr) pool_->Give(std::move(block_), capacity_);
  ring_ = &only_;
  capacity_ = 1;
  first_ = size_ = 0;
}

}  // namespace mcscope
