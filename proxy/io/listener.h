// Accepts connections on one address and hands each on. When descriptors or kernel memory run out
// it stops accepting (clients wait in the kernel's backlog) and tries again after a pause, so that
// it never spins.
//
// Owner: the server; its loop's thread.
#ifndef MCSCOPE_PROXY_IO_LISTENER_H_
#define MCSCOPE_PROXY_IO_LISTENER_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "proxy/io/loop.h"
#include "proxy/io/socket.h"

namespace mcscope::io {

class Listener {
 public:
  using Acceptor = std::function<void(Socket)>;
  // Whether there are descriptors for one more client.
  using Gate = std::function<bool()>;
  // Called with the errno at each start of a pause (EMFILE when the gate was shut).
  using PauseObserver = std::function<void(int)>;

  // Starts to accept on `socket`, which listens already.
  Listener(Loop* loop, Socket socket, Acceptor on_accept, Gate gate, PauseObserver on_pause);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // For good: closes the listening socket, so that new clients are refused.
  void StopAccepting();

  SocketAddress address() const { return address_; }

  // How often accepting has paused. Any thread.
  uint64_t pauses() const { return pauses_.load(std::memory_order_relaxed); }

 private:
  void OnReadable();
  void Pause(int error);

  Socket socket_;
  SocketAddress address_;
  Acceptor on_accept_;
  Gate gate_;
  PauseObserver on_pause_;
  event* event_;
  Timer resume_;
  std::atomic<uint64_t> pauses_{0};
};

}  // namespace mcscope::io

#endif  // MCSCOPE_PROXY_IO_LISTENER_H_
