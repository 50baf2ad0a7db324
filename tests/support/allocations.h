// Counts what the whole test program allocates with operator new.
#ifndef MCSCOPE_TESTS_SUPPORT_ALLOCATIONS_H_
#define MCSCOPE_TESTS_SUPPORT_ALLOCATIONS_H_

#include <cstdint>

namespace mcscope::test {

// Allocations of this thread so far. Linking this in replaces the global operator new.
uint64_t AllocationsOfThisThread();

// Of all threads.
uint64_t AllocationsOfAllThreads();

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_ALLOCATIONS_H_
