#include "proxy/io/socket.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace mcscope::io {
namespace {

constexpr int kBacklog = 4096;
constexpr int kKeepAliveIdleSeconds = 60;
constexpr int kKeepAliveIntervalSeconds = 10;
constexpr int kKeepAliveProbes = 6;

absl::Status ErrnoStatus(int error) { return absl::InternalError(std::strerror(error)); }

// Unlinks a unix socket's file when nobody accepts on it any more.
void RemoveStaleSocketFile(const SocketAddress& address) {
  const char* path = reinterpret_cast<const sockaddr_un*>(address.get())->sun_path;
  struct stat info;
  if (lstat(path, &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  Socket probe = Socket::Open(address);
  if (probe.valid() && probe.Connect(address) == ECONNREFUSED) unlink(path);
}

bool SetInt(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Socket::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Socket Socket::Open(const SocketAddress& address) {
  return Socket(socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

absl::StatusOr<Socket> Socket::Listen(const SocketAddress& address) {
  Socket socket = Open(address);
  if (!socket.valid()) return ErrnoStatus(errno);
  if (address.is_unix()) {
    RemoveStaleSocketFile(address);
  } else {
    SetInt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
  }
  if (bind(socket.fd(), address.get(), address.length()) != 0 ||
      listen(socket.fd(), kBacklog) != 0) {
    return ErrnoStatus(errno);
  }
  return socket;
}

int Socket::Connect(const SocketAddress& address) {
  return connect(fd_, address.get(), address.length()) == 0 ? 0 : errno;
}

bool Socket::IsConnected() const {
  sockaddr_storage peer;
  socklen_t length = sizeof(peer);
  return getpeername(fd_, reinterpret_cast<sockaddr*>(&peer), &length) == 0;
}

int Socket::TakeError() {
  int error = 0;
  socklen_t length = sizeof(error);
  return getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

SocketAddress Socket::LocalAddress() const {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  if (getsockname(fd_, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return SocketAddress(reinterpret_cast<const sockaddr*>(&storage), length);
}

bool Socket::SetNoDelay(bool on) {
  if (!SetInt(fd_, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0)) {
    return errno == EOPNOTSUPP || errno == ENOPROTOOPT;  // a unix socket
  }
  int now = 0;
  socklen_t length = sizeof(now);
  return getsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &now, &length) == 0 && (now != 0) == on;
}

bool Socket::SetQuickAck(bool on) { return SetInt(fd_, IPPROTO_TCP, TCP_QUICKACK, on ? 1 : 0); }

void Socket::SetKeepAlive() {
  SetInt(fd_, SOL_SOCKET, SO_KEEPALIVE, 1);
  // The kernel's own default is two hours. These fail on a unix socket, which needs none.
  SetInt(fd_, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  SetInt(fd_, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  SetInt(fd_, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

void Socket::ShutdownWrite() { shutdown(fd_, SHUT_WR); }

void Socket::ResetOnClose() {
  // A reset throws away what the kernel has not sent yet; an orderly end does not.
  int unsent = 0;
  if (ioctl(fd_, SIOCOUTQNSD, &unsent) == 0 && unsent > 0) return;
  const linger at_once = {1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

}  // namespace mcscope::io
