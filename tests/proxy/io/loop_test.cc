#include "proxy/io/loop.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait.h"

namespace mcscope::io {
namespace {

using ::testing::ElementsAre;

TEST(LoopTest, PostedTasksRunOnTheLoopsThreadInOrder) {
  constexpr int kTasks = 10'000;
  Loop loop;
  std::vector<int> seen;
  bool all_here = true;
  const std::thread::id here = std::this_thread::get_id();
  std::thread poster([&] {
    for (int i = 0; i < kTasks; ++i) {
      loop.Post([&, i] {
        seen.push_back(i);
        all_here &= std::this_thread::get_id() == here;
      });
    }
    loop.Post([&] { loop.Stop(); });
  });
  loop.Run();
  poster.join();
  ASSERT_EQ(seen.size(), static_cast<size_t>(kTasks));
  for (int i = 0; i < kTasks; ++i) ASSERT_EQ(seen[i], i);
  EXPECT_TRUE(all_here);
}

TEST(LoopTest, NoTaskOfSeveralThreadsIsLost) {
  constexpr int kThreads = 4, kTasks = 2'000;
  Loop loop;
  int left = kThreads * kTasks;
  std::vector<int> last(kThreads, -1);
  bool in_order = true;
  std::vector<std::thread> posters;
  for (int thread = 0; thread < kThreads; ++thread) {
    posters.emplace_back([&, thread] {
      for (int i = 0; i < kTasks; ++i) {
        loop.Post([&, thread, i] {
          in_order &= last[thread] < i;
          last[thread] = i;
          if (--left == 0) loop.Stop();
        });
      }
    });
  }
  loop.Run();
  for (std::thread& poster : posters) poster.join();
  EXPECT_EQ(left, 0);
  EXPECT_TRUE(in_order);
}

TEST(LoopTest, ATaskMayPostTheNext) {
  Loop loop;
  int runs = 0;
  std::function<void()> task = [&] {
    if (++runs == 100) return loop.Stop();
    loop.Post(task);
  };
  loop.Post(task);
  loop.Run();
  EXPECT_EQ(runs, 100);
}

TEST(LoopTest, TasksPostedBeforeTheRunWaitForIt) {
  Loop loop;
  std::string order;
  loop.Post([&] { order += "task "; });
  loop.Post([&] { loop.Stop(); });
  order += "run ";
  loop.Run();
  EXPECT_EQ(order, "run task ");
}

TEST(LoopTest, EveryTurnHasItsEnd) {
  Loop loop;
  int turns = 0, ends = 0;
  std::function<void()> task = [&] {
    EXPECT_EQ(turns, ends);  // the end of the turn before came first
    if (++turns == 5) return loop.Stop();
    loop.Post(task);
  };
  loop.Post(task);
  loop.Run([&] { ++ends; });
  EXPECT_EQ(ends, 5);
}

TEST(LoopTest, StopLetsTheTurnFinish) {
  Loop loop;
  bool after = false;
  loop.Post([&] { loop.Stop(); });
  loop.Post([&] { after = true; });  // in the same turn
  loop.Run();
  EXPECT_TRUE(after);
}

TEST(LoopTest, WaitingTasksAreDroppedWithTheLoop) {
  const auto held = std::make_shared<int>(0);
  bool ran = false;
  {
    Loop loop;
    loop.Post([held, &ran] { ran = true; });
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_FALSE(ran);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(LoopTest, AnIdleLoopMakesNoTurns) {
  Loop loop;
  int ends = 0;
  Timer timer(&loop, [&] { loop.Stop(); });
  timer.Start(absl::Milliseconds(50));
  loop.Run([&] { ++ends; });
  EXPECT_LE(ends, 2);
}

TEST(TimerTest, CallsBackOnceAfterItsDelay) {
  Loop loop;
  int calls = 0;
  const absl::Time started = absl::Now();
  absl::Time called;
  Timer timer(&loop, [&] {
    ++calls;
    called = absl::Now();
  });
  Timer end(&loop, [&] { loop.Stop(); });
  timer.Start(absl::Milliseconds(20));
  end.Start(absl::Milliseconds(60));
  loop.Run();
  EXPECT_EQ(calls, 1);
  // libevent's clock ticks coarsely.
  EXPECT_GE(called - started, absl::Milliseconds(15));
}

TEST(TimerTest, AStoppedOneStaysSilent) {
  Loop loop;
  bool called = false;
  Timer timer(&loop, [&] { called = true; });
  Timer end(&loop, [&] { loop.Stop(); });
  timer.Start(absl::Milliseconds(5));
  timer.Stop();
  end.Start(absl::Milliseconds(20));
  loop.Run();
  EXPECT_FALSE(called);
}

TEST(TimerTest, StartingAgainMovesItsTime) {
  Loop loop;
  std::vector<std::string> order;
  Timer moved(&loop, [&] {
    order.push_back("moved");
    loop.Stop();
  });
  Timer other(&loop, [&] { order.push_back("other"); });
  moved.Start(absl::Milliseconds(5));
  other.Start(absl::Milliseconds(15));
  moved.Start(absl::Milliseconds(40));
  loop.Run();
  EXPECT_THAT(order, ElementsAre("other", "moved"));
}

TEST(TimerTest, RestartsFromItsOwnCallback) {
  Loop loop;
  int calls = 0;
  Timer* self = nullptr;
  Timer timer(&loop, [&] {
    if (++calls == 3) return loop.Stop();
    self->Start(absl::Milliseconds(1));
  });
  self = &timer;
  timer.Start(absl::ZeroDuration());
  loop.Run();
  EXPECT_EQ(calls, 3);
}

TEST(SignalWatchTest, CallsBackOnTheLoopsThreadAtEachArrival) {
  Loop loop;
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<int> calls{0};
  bool all_here = true;
  SignalWatch watch(&loop, SIGUSR1, [&] {
    all_here &= std::this_thread::get_id() == here;
    if (++calls == 2) loop.Stop();
  });
  std::thread sender([&] {
    pthread_kill(pthread_self(), SIGUSR1);
    test::Eventually([&] { return calls == 1; });
    pthread_kill(pthread_self(), SIGUSR1);
  });
  loop.Run();
  sender.join();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(all_here);
}

TEST(SignalWatchTest, ASignalIsTheProgramsAgainAfterwards) {
  struct sigaction before = {}, during = {}, after = {};
  sigaction(SIGUSR2, nullptr, &before);
  {
    Loop loop;
    const SignalWatch watch(&loop, SIGUSR2, [] {});
    sigaction(SIGUSR2, nullptr, &during);
  }
  sigaction(SIGUSR2, nullptr, &after);
  EXPECT_NE(during.sa_handler, before.sa_handler);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace mcscope::io
