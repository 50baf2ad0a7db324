#include "proxy/exchange.h"

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/allocations.h"

namespace mcscope {
namespace {

class ExchangeQueueTest : public ::testing::Test {
 protected:
  void Push(uint32_t number) { queue_.Push().reads = number; }

  ExchangePool pool_;
  ExchangeQueue queue_{&pool_};
};

TEST_F(ExchangeQueueTest, IsEmptyAtFirst) {
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(ExchangeQueueTest, OneExchangeAtATimeTakesNoMemory) {
  const uint64_t before = test::AllocationsOfThisThread();
  for (uint32_t i = 0; i < 100; ++i) {
    Push(i);
    EXPECT_EQ(queue_.front().reads, i);
    queue_.PopFront();
  }
  EXPECT_EQ(test::AllocationsOfThisThread(), before);
}

TEST_F(ExchangeQueueTest, LeavesInTheOrderItCame) {
  for (uint32_t i = 0; i < 1000; ++i) Push(i);
  EXPECT_EQ(queue_.size(), 1000u);
  for (uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(queue_.front().reads, i);
    queue_.PopFront();
  }
  EXPECT_TRUE(queue_.empty());
}

TEST_F(ExchangeQueueTest, CountsFromTheFront) {
  for (uint32_t i = 0; i < 40; ++i) Push(i);
  for (uint32_t i = 0; i < 7; ++i) queue_.PopFront();
  for (uint32_t i = 0; i < queue_.size(); ++i) ASSERT_EQ(queue_[i].reads, i + 7);
}

TEST_F(ExchangeQueueTest, AWrappedRingGrowsInOrder) {
  for (uint32_t i = 0; i < 16; ++i) Push(i);           // a full ring of 16
  for (uint32_t i = 0; i < 9; ++i) queue_.PopFront();  // its front in the middle
  for (uint32_t i = 16; i < 25; ++i) Push(i);          // full again, wrapped
  ASSERT_EQ(queue_.size(), 16u);
  Push(25);  // grows
  for (uint32_t i = 9; i <= 25; ++i) {
    ASSERT_EQ(queue_.front().reads, i);
    queue_.PopFront();
  }
  EXPECT_TRUE(queue_.empty());
}

TEST_F(ExchangeQueueTest, BehavesAsAQueueWhateverIsDoneToIt) {
  std::mt19937 random(7);
  std::deque<uint32_t> model;
  uint32_t next = 0;
  for (int round = 0; round < 20'000; ++round) {
    // Phases that tend to grow and phases that tend to shrink, down to nothing now and then.
    const bool push = model.empty() || random() % 100 < (round / 1000 % 2 == 0 ? 60u : 40u);
    if (push) {
      Push(next);
      model.push_back(next++);
    } else {
      queue_.PopFront();
      model.pop_front();
    }
    ASSERT_EQ(queue_.size(), model.size());
    if (model.empty()) continue;
    ASSERT_EQ(queue_.front().reads, model.front());
    const size_t some = random() % model.size();
    ASSERT_EQ(queue_[some].reads, model[some]);
  }
}

TEST_F(ExchangeQueueTest, ANewExchangeRemembersNothingOfTheOneThatStoodThere) {
  for (int i = 0; i < 20; ++i) {
    Exchange& exchange = queue_.Push();
    exchange.answered = true;
    exchange.reply_end = 99;
    exchange.timeline.written = 99;
    exchange.request.answer = protocol::Answer::kNever;
  }
  while (!queue_.empty()) queue_.PopFront();
  for (int i = 0; i < 20; ++i) {
    const Exchange& exchange = queue_.Push();
    EXPECT_FALSE(exchange.answered);
    EXPECT_EQ(exchange.reads, 1u);
    EXPECT_EQ(exchange.reply_end, 0u);
    EXPECT_EQ(exchange.timeline.written, 0);
    EXPECT_EQ(exchange.request.answer, protocol::Answer::kAlways);
  }
}

TEST_F(ExchangeQueueTest, ABlockIsGivenBackWhenTheQueueIsEmptyAndTakenAgain) {
  const auto pipeline = [this] {
    for (uint32_t i = 0; i < 300; ++i) Push(i);
    while (!queue_.empty()) queue_.PopFront();
  };
  pipeline();
  const uint64_t before = test::AllocationsOfThisThread();
  for (int i = 0; i < 10; ++i) pipeline();
  EXPECT_EQ(test::AllocationsOfThisThread(), before);
}

TEST(ExchangePoolTest, QueuesShareItsBlocks) {
  ExchangePool pool;
  const auto use = [&pool] {
    ExchangeQueue queue(&pool);
    for (int i = 0; i < 20; ++i) queue.Push();
  };  // a queue gives back what it holds when it goes
  use();
  const uint64_t before = test::AllocationsOfThisThread();
  for (int i = 0; i < 10; ++i) use();
  EXPECT_EQ(test::AllocationsOfThisThread(), before);
}

TEST(ExchangePoolTest, GivesBackTheBlockOfThatSize) {
  ExchangePool pool;
  ExchangePool::Block small = pool.Take(16), large = pool.Take(64);
  const Exchange* const small_at = small.get();
  const Exchange* const large_at = large.get();
  pool.Give(std::move(small), 16);
  pool.Give(std::move(large), 64);
  EXPECT_EQ(pool.Take(64).get(), large_at);
  EXPECT_EQ(pool.Take(16).get(), small_at);
}

// Memory use after a burst of pipelines is bounded, whatever the burst was.
TEST(ExchangePoolTest, KeepsABoundedNumberOfBlocks) {
  ExchangePool pool;
  constexpr size_t kBlocks = 2000, kCapacity = 64;
  std::vector<ExchangePool::Block> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(pool.Take(kCapacity));
  for (ExchangePool::Block& block : blocks) pool.Give(std::move(block), kCapacity);
  blocks.clear();
  uint64_t allocated = 0;
  for (size_t i = 0; i < kBlocks; ++i) {
    const uint64_t before = test::AllocationsOfThisThread();
    ExchangePool::Block block = pool.Take(kCapacity);
    allocated += test::AllocationsOfThisThread() - before;
    blocks.push_back(std::move(block));
  }
  const size_t kept_bytes = (kBlocks - allocated) * kCapacity * sizeof(Exchange);
  EXPECT_GT(kept_bytes, 0u);
  EXPECT_LE(kept_bytes, (1u << 20) + kCapacity * sizeof(Exchange));
}

TEST(ExchangePoolTest, KeepsNoHugeBlock) {
  ExchangePool pool;
  pool.Give(pool.Take(8192), 8192);
  const uint64_t before = test::AllocationsOfThisThread();
  pool.Take(8192);
  EXPECT_EQ(test::AllocationsOfThisThread(), before + 1);
}

}  // namespace
}  // namespace mcscope
