#include "proxy/io/listener.h"

#include <event2/event.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace mcscope::io {
namespace {

// Connections taken per turn: a burst must not starve the loop's signals and tasks.
constexpr int kAcceptsPerTurn = 64;
constexpr absl::Duration kPause = absl::Milliseconds(100);

}  // namespace

Listener::Listener(Loop* loop, Socket socket, Acceptor on_accept, Gate gate, PauseObserver on_pause)
    : socket_(std::move(socket)),
      address_(socket_.LocalAddress()),
      on_accept_(std::move(on_accept)),
      gate_(std::move(gate)),
      on_pause_(std::move(on_pause)),
      event_(event_new(
          loop->base(), socket_.fd(), EV_READ | EV_PERSIST,
          [](int, int16_t, void* self) { static_cast<Listener*>(self)->OnReadable(); }, this)),
      resume_(loop, [this] { event_add(event_, nullptr); }) {
  event_add(event_, nullptr);
}

Listener::~Listener() {
  StopAccepting();
  event_free(event_);
}

void Listener::StopAccepting() {
  if (!socket_.valid()) return;
  event_del(event_);
  resume_.Stop();
  socket_.Close();
  // A unix socket's file would outlive it.
  if (address_.is_unix()) unlink(reinterpret_cast<const sockaddr_un*>(address_.get())->sun_path);
}

void Listener::OnReadable() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    if (!gate_()) {
      if (i == 0) Pause(EMFILE);
      return;  // else the next turn tells whether anybody waits
    }
    const int fd = accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      on_accept_(Socket(fd));
      continue;
    }
    switch (errno) {
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        return Pause(errno);
      case EAGAIN:
        return;
      default:
        continue;  // that one client is gone (ECONNABORTED and the like); the next may be fine
    }
  }
}

void Listener::Pause(int error) {
  event_del(event_);
  resume_.Start(kPause);
  pauses_.fetch_add(1, std::memory_order_relaxed);
  on_pause_(error);
}

}  // namespace mcscope::io
