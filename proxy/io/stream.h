// A non-blocking byte stream over one socket: reads when told to, writes at once and keeps what the
// kernel does not take. It bounds nothing by itself: its user stops the source while pending() > 0.
//
// Owner: a session (client side) or a link (memcached side). The loop's thread. No callback is made
// from within Recv() or Write(); the handler must not destroy the stream in a callback.
#ifndef MCSCOPE_PROXY_IO_STREAM_H_
#define MCSCOPE_PROXY_IO_STREAM_H_

#include <event2/event.h>
#include <event2/event_struct.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proxy/io/loop.h"
#include "proxy/io/socket.h"

namespace mcscope::io {

class StreamHandler {
 public:
  virtual void OnReadable() = 0;
  // `bytes` more of what was pending went to the kernel; or, with an errno, the stream takes no
  // more and what was pending is lost.
  virtual void OnFlushed(size_t bytes, int error) = 0;
  // A connect has ended: 0, or its errno (ETIMEDOUT when its time was up).
  virtual void OnConnected(int error) = 0;

 protected:
  ~StreamHandler() = default;
};

// What one system call did. `bytes` 0 and error 0 from Recv: the peer has ended its stream.
struct IoResult {
  size_t bytes = 0;
  int error = 0;  // errno; EAGAIN is not an error of Write (the rest is pending then)
};

class Stream {
 public:
  // A connected socket.
  Stream(Loop* loop, Socket socket, StreamHandler* handler);
  // One yet to be connected; Connect() is called once.
  Stream(Loop* loop, StreamHandler* handler);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Starts to connect; what is written meanwhile is pending. 0, or the errno of an immediate
  // failure (then OnConnected is not called). Else OnConnected follows in a later turn.
  int Connect(const SocketAddress& address, absl::Duration timeout);

  // One recv into `buffer`.
  IoResult Recv(char* buffer, size_t size);

  // Writes `head` and `tail` in one system call; with bytes pending already, queues them behind.
  // `bytes` is what the kernel took.
  IoResult Write(absl::string_view head, absl::string_view tail = {});

  // True when reads were not watched before and are from now on.
  bool WatchReads(bool on);

  // Ends the outgoing direction once nothing is pending.
  void FinishWrites();

  // Closes now. `reset`: with a reset instead of an orderly end. No callbacks follow.
  void Close(bool reset);

  bool open() const { return socket_.valid(); }
  size_t pending() const { return pending_.size() - pending_sent_; }
  // Bytes handed to the kernel since the stream began.
  uint64_t handed() const { return handed_; }
  // ... and those that will be, once what is pending has gone.
  uint64_t accepted() const { return handed_ + pending(); }
  Socket& socket() { return socket_; }

 private:
  static void OnReadEvent(int fd, int16_t what, void* self);
  static void OnWriteEvent(int fd, int16_t what, void* self);
  struct EventDeleter {
    void operator()(event* e) const { event_free(e); }
  };

  void Register();
  void WatchWrites(const timeval* timeout);
  void FinishConnect(int error);
  void Flush();
  void Keep(absl::string_view bytes);
  void DropPending();

  Loop* loop_;
  Socket socket_;
  StreamHandler* handler_;
  event read_event_;
  std::unique_ptr<event, EventDeleter> write_event_;  // once a write had to wait
  bool reading_ = false;
  bool connecting_ = false;
  bool finishing_ = false;
  std::string pending_;  // no memory while nothing is pending
  size_t pending_sent_ = 0;
  uint64_t handed_ = 0;
};

}  // namespace mcscope::io

#endif  // MCSCOPE_PROXY_IO_STREAM_H_
