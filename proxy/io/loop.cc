#include "proxy/io/loop.h"

#include <event2/event.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace mcscope::io {
namespace {

// Without a loop or its descriptor nothing can run, and there is nobody to tell but the user.
[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::abort();
}

// A base without locks: each is used by its own thread only, and woken through the mailbox.
event_base* NewBase() {
  event_config* config = event_config_new();
  if (config == nullptr) Die("event_config_new");
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  event_base* base = event_base_new_with_config(config);
  event_config_free(config);
  if (base == nullptr) Die("event_base_new");
  return base;
}

event* NewEvent(event_base* base, int fd, int16_t what, event_callback_fn callback, void* context) {
  event* made = event_new(base, fd, what, callback, context);
  if (made == nullptr) Die("event_new");
  return made;
}

}  // namespace

Loop::Loop() : base_(NewBase()), wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_fd_ < 0) Die("eventfd");
  wake_event_ = NewEvent(
      base_, wake_fd_, EV_READ | EV_PERSIST,
      [](int, int16_t, void* self) { static_cast<Loop*>(self)->RunTasks(); }, this);
  event_add(wake_event_, nullptr);
}

Loop::~Loop() {
  event_free(wake_event_);
  event_base_free(base_);
  close(wake_fd_);
}

void Loop::Run(const std::function<void()>& end_of_turn) {
  while (!stopping_) {
    event_base_loop(base_, EVLOOP_ONCE);
    end_of_turn();
  }
}

void Loop::Post(std::function<void()> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
    if (tasks_.size() > 1) return;  // somebody else's wake-up is still under way
  }
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the loop is awake anyway.
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof(one));
}

void Loop::RunTasks() {
  uint64_t count;
  [[maybe_unused]] const ssize_t got = read(wake_fd_, &count, sizeof(count));
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task();
}

Timer::Timer(Loop* loop, std::function<void()> callback)
    : callback_(std::move(callback)),
      event_(NewEvent(
          loop->base(), -1, 0,
          [](int, int16_t, void* self) { static_cast<Timer*>(self)->callback_(); }, this)) {}

Timer::~Timer() { event_free(event_); }

void Timer::Start(absl::Duration delay) {
  const timeval tv = absl::ToTimeval(delay);
  event_add(event_, &tv);
}

void Timer::Stop() { event_del(event_); }

SignalWatch::SignalWatch(Loop* loop, int signal, std::function<void()> callback)
    : callback_(std::move(callback)),
      event_(NewEvent(
          loop->base(), signal, EV_SIGNAL | EV_PERSIST,
          [](int, int16_t, void* self) { static_cast<SignalWatch*>(self)->callback_(); }, this)) {
  event_add(event_, nullptr);
}

SignalWatch::~SignalWatch() { event_free(event_); }

}  // namespace mcscope::io
