#include "proxy/io/stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <utility>

namespace mcscope::io {
namespace {

// Sends both pieces in one call: memcached (or the app) sees one segment train, not two.
ssize_t SendBoth(int fd, absl::string_view head, absl::string_view tail) {
  if (head.empty()) return send(fd, tail.data(), tail.size(), MSG_NOSIGNAL);
  if (tail.empty()) return send(fd, head.data(), head.size(), MSG_NOSIGNAL);
  iovec pieces[2] = {{const_cast<char*>(head.data()), head.size()},
                     {const_cast<char*>(tail.data()), tail.size()}};
  msghdr message = {};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  return sendmsg(fd, &message, MSG_NOSIGNAL);
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
  event_assign(&write_event_, loop_->base(), socket_.fd(), EV_WRITE | EV_PERSIST, OnWriteEvent,
               this);
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
  event_add(&write_event_, &tv);
  return 0;
}

IoResult Stream::Recv(char* buffer, size_t size) {
  const ssize_t got = recv(socket_.fd(), buffer, size, 0);
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
    event_add(&write_event_, nullptr);
  }
  return {taken, 0};
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
  stream->FinishConnect((what & EV_TIMEOUT) != 0 ? ETIMEDOUT : stream->socket_.TakeError());
}

void Stream::FinishConnect(int error) {
  connecting_ = false;
  event_del(&write_event_);  // it carried the connect's timeout
  handler_->OnConnected(error);
  if (error != 0 || !open()) return;
  if (pending() > 0) {
    event_add(&write_event_, nullptr);
    Flush();
  } else if (finishing_) {
    socket_.ShutdownWrite();
  }
}

void Stream::DropPending() {
  std::string().swap(pending_);
  pending_sent_ = 0;
  event_del(&write_event_);
}

void Stream::Flush() {
  const absl::string_view rest = absl::string_view(pending_).substr(pending_sent_);
  const ssize_t sent = send(socket_.fd(), rest.data(), rest.size(), MSG_NOSIGNAL);
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
