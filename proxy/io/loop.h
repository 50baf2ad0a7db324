// One thread's event loop: libevent's event_base, run turn by turn, with a mailbox for the other
// threads, timers and signals.
//
// Owner: whatever owns the thread (worker, server, admin). All calls from its thread, but Post().
#ifndef MCSCOPE_PROXY_IO_LOOP_H_
#define MCSCOPE_PROXY_IO_LOOP_H_

#include <functional>
#include <mutex>
#include <vector>

#include "absl/time/time.h"

struct event;
struct event_base;

namespace mcscope::io {

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs turns until Stop(). `end_of_turn` is called after each.
  void Run(const std::function<void()>& end_of_turn = [] {});

  // Ends Run() after the current turn.
  void Stop() { stopping_ = true; }

  // From any thread: runs `task` on the loop's thread, in order, in one of the next turns. Tasks
  // still waiting when the loop is destroyed are dropped.
  void Post(std::function<void()> task);

  // For what needs the event_base itself: this folder, and evhttp.
  event_base* base() { return base_; }

 private:
  void RunTasks();

  event_base* base_;
  bool stopping_ = false;
  int wake_fd_;  // eventfd: readable while tasks wait
  event* wake_event_;
  // A standard mutex: the thread sanitizer can't see into Debian's build of absl::Mutex.
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;  // guarded by mutex_
};

// Calls back once after a delay; restartable. Lives no longer than its loop.
class Timer {
 public:
  Timer(Loop* loop, std::function<void()> callback);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void Start(absl::Duration delay);
  void Stop();

 private:
  std::function<void()> callback_;
  event* event_;
};

// Calls back, on the loop's thread, at each arrival of a signal. Lives no longer than its loop; at
// most one loop of a process may watch signals.
class SignalWatch {
 public:
  SignalWatch(Loop* loop, int signal, std::function<void()> callback);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  std::function<void()> callback_;
  event* event_;
};

}  // namespace mcscope::io

#endif  // MCSCOPE_PROXY_IO_LOOP_H_
