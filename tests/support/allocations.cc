#include "tests/support/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace mcscope::test {
namespace {

thread_local uint64_t allocations = 0;
std::atomic<uint64_t> all_allocations{0};

void* Allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  all_allocations.fetch_add(1, std::memory_order_relaxed);
  // aligned_alloc wants a whole multiple; 0 bytes must still give a pointer of their own.
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

uint64_t AllocationsOfThisThread() { return allocations; }

uint64_t AllocationsOfAllThreads() { return all_allocations.load(std::memory_order_relaxed); }

}  // namespace mcscope::test

// The nothrow forms call these. The array forms would too, but for sanitizers that bring their own.
void* operator new(std::size_t size) {
  return mcscope::test::Allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return mcscope::test::Allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return operator new(size, alignment);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
