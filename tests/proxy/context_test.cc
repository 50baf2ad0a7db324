#include "proxy/context.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/allocations.h"

namespace mcscope {
namespace {

TEST(HoldPoolTest, GivesAnEmptyBufferThatHasItsMemoryStill) {
  HoldPool pool;
  std::string buffer = pool.Take();
  EXPECT_TRUE(buffer.empty());
  buffer.assign(10'000, 'x');
  pool.Give(std::move(buffer));
  const uint64_t before = test::AllocationsOfThisThread();
  std::string again = pool.Take();
  EXPECT_TRUE(again.empty());
  again.assign(10'000, 'y');
  EXPECT_EQ(test::AllocationsOfThisThread(), before);
}

TEST(HoldPoolTest, TwoHoldersNeverShareABuffer) {
  HoldPool pool;
  for (int i = 0; i < 3; ++i) pool.Give(std::string(1000, 'x'));
  std::vector<std::string> taken;
  std::set<const char*> places;
  for (int i = 0; i < 3; ++i) {
    taken.push_back(pool.Take());
    places.insert(taken.back().data());
  }
  EXPECT_EQ(places.size(), 3u);
}

// Memory use after a burst of split requests is bounded, whatever the burst was.
TEST(HoldPoolTest, KeepsABoundedNumberOfBytes) {
  HoldPool pool;
  constexpr size_t kSize = 64 << 10;
  for (int i = 0; i < 100; ++i) pool.Give(std::string(kSize, 'x'));
  size_t kept = 0;
  for (int i = 0; i < 100; ++i) {
    const size_t capacity = pool.Take().capacity();
    if (capacity >= kSize) kept += capacity;
  }
  EXPECT_GT(kept, 0u);
  EXPECT_LE(kept, 1u << 20);
  pool.Give(std::string(kSize, 'x'));  // there is room again
  EXPECT_GE(pool.Take().capacity(), kSize);
}

}  // namespace
}  // namespace mcscope
