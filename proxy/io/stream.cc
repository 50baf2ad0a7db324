#include "proxy/io/stream.h"

#include <sys/uio.h>

#include <cerrno>
#include <utility>

#include "proxy/io/syscalls.h"

namespace mcscope::io {
namespace {

// Sends both pieces in one call: memcached (or the app) sees one segment train, not two.
ssize_t SendBoth(int fd, absl::string_view head, absl::string_view tail) {
  if (head.empty()) return Send(fd, tail.data(), tail.size());
  if (tail.empty()) return Send(fd, head.data(), head.size());
  iovec pieces[2] = {{const_cast<char*>(head.data()), head.size()},
                     {const_cast<char*>(tail.data()), tail.size()}};
  msghdr message = {};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  return SendMessage(fd, message);
}

}  // namespace

Stream::Stream(Loop* loop, Socket socket, StreamHandler* handler)
    : loop_(loop), socket_(std::move(socket)), handler_(handler) {
  Register();
}

Stream::Stream(Loop* loop, StreamHandler* handler) : loop_(loop), handler_(handler) {}

Stream::~Stream() { Close(/*reset=*/false); }

void Stream::Register() {
  event_assign(&read_event_, loop_->base(), socket_.fd(), EV_READ | EV_PERSIST, OnReadEvent, this);
}

int Stream::Connect(const SocketAddress& address, absl::Duration timeout) {
  socket_ = Socket::Open(address);
  if (!socket_.valid()) return errno;
  const int error = socket_.Connect(address);
  if (error != 0 && error != EINPROGRESS) {
    socket_.Close();
    return error;
  }
  Register();
  connecting_ = true;
  const timeval tv = absl::ToTimeval(timeout);
  WatchWrites(&tv);
  return 0;
}

IoResult Stream::Recv(char* buffer, size_t size) {
  const ssize_t got = Receive(socket_.fd(), buffer, size);
  if (got >= 0) return {static_cast<size_t>(got), 0};
  return {0, errno};
}

IoResult Stream::Write(absl::string_view head, absl::string_view tail) {
  if (connecting_ || pending() > 0) {
    Keep(head);
    Keep(tail);
    return {};
  }
  const ssize_t sent = SendBoth(socket_.fd(), head, tail);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return {0, errno};
  const size_t taken = sent < 0 ? 0 : static_cast<size_t>(sent);
  handed_ += taken;
  if (taken < head.size() + tail.size()) {
    const size_t from_head = taken < head.size() ? taken : head.size();
    Keep(head.substr(from_head));
    Keep(tail.substr(taken - from_head));
    WatchWrites(nullptr);
  }
  return {taken, 0};
}

void Stream::WatchWrites(const timeval* timeout) {
  if (write_event_ == nullptr) {
    write_event_.reset(
        event_new(loop_->base(), socket_.fd(), EV_WRITE | EV_PERSIST, OnWriteEvent, this));
  }
  event_add(write_event_.get(), timeout);
}

void Stream::Keep(absl::string_view bytes) { pending_.append(bytes.data(), bytes.size()); }

bool Stream::WatchReads(bool on) {
  if (on == reading_ || !open()) return false;
  reading_ = on;
  if (on) {
    event_add(&read_event_, nullptr);
  } else {
    event_del(&read_event_);
  }
  return on;
}

void Stream::FinishWrites() {
  finishing_ = true;
  if (!connecting_ && pending() == 0) socket_.ShutdownWrite();
}

void Stream::Close(bool reset) {
  if (!open()) return;
  event_del(&read_event_);
  DropPending();
  reading_ = connecting_ = false;
  if (reset) socket_.ResetOnClose();
  socket_.Close();
}

void Stream::OnReadEvent(int, int16_t, void* self) {
  static_cast<Stream*>(self)->handler_->OnReadable();
}

void Stream::OnWriteEvent(int, int16_t what, void* self) {
  auto* stream = static_cast<Stream*>(self);
  if (!stream->connecting_) return stream->Flush();
  // When the loop looks late libevent tells of the timeout only, even if the connect was in time.
  const bool late = (what & EV_TIMEOUT) != 0 && !stream->socket_.IsConnected();
  stream->FinishConnect(late ? ETIMEDOUT : stream->socket_.TakeError());
}

void Stream::FinishConnect(int error) {
  connecting_ = false;
  write_event_.reset();  // most streams never need one again
  handler_->OnConnected(error);
  if (error != 0 || !open()) return;
  if (pending() > 0) {
    WatchWrites(nullptr);
    Flush();
  } else if (finishing_) {
    socket_.ShutdownWrite();
  }
}

void Stream::DropPending() {
  std::string().swap(pending_);
  pending_sent_ = 0;
  if (write_event_ != nullptr) event_del(write_event_.get());
}

void Stream::Flush() {
  const absl::string_view rest = absl::string_view(pending_).substr(pending_sent_);
  const ssize_t sent = Send(socket_.fd(), rest.data(), rest.size());
  if (sent < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    const int error = errno;
    DropPending();
    return handler_->OnFlushed(0, error);
  }
  handed_ += static_cast<size_t>(sent);
  pending_sent_ += static_cast<size_t>(sent);
  if (pending() == 0) {
    DropPending();
    if (finishing_) socket_.ShutdownWrite();
  }
  handler_->OnFlushed(static_cast<size_t>(sent), 0);
}

}  // namespace mcscope::io
