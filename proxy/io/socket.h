// A socket's descriptor and its options. Move-only; closes what it holds.
//
// Owner: whoever holds the value. One thread at a time.
#ifndef MCSCOPE_PROXY_IO_SOCKET_H_
#define MCSCOPE_PROXY_IO_SOCKET_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "proxy/io/address.h"

namespace mcscope::io {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { Close(); }

  int fd() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Close();
  // Gives the descriptor away: it is no longer this value's to close.
  int Release() { return std::exchange(fd_, -1); }

  // A non-blocking stream socket of the address's family; invalid, with errno set, on failure.
  static Socket Open(const SocketAddress& address);

  // A socket that listens on `address`. A unix socket's file left behind by a dead process is
  // replaced; one that somebody listens on is not.
  // Errors: Internal with the errno's text (e.g. "Address already in use").
  static absl::StatusOr<Socket> Listen(const SocketAddress& address);

  // Starts to connect: 0 (connected), EINPROGRESS, or the errno.
  int Connect(const SocketAddress& address);

  bool IsConnected() const;

  // The error of a finished connect (SO_ERROR); 0 for none.
  int TakeError();

  // The address it is bound to, with the port the kernel picked.
  SocketAddress LocalAddress() const;

  // Sets TCP_NODELAY and reads it back; false when the kernel did not take it. True on a unix
  // socket, where there is nothing to delay.
  bool SetNoDelay(bool on);

  // TCP_QUICKACK: on = acknowledge what has arrived at once. Not permanent (tcp(7)): it is set anew
  // for each read that wants it. False where the socket has no such option.
  bool SetQuickAck(bool on);

  // Keepalive probes, so that a peer that vanished is noticed within two minutes.
  void SetKeepAlive();

  void ShutdownWrite();

  // Makes the coming Close() send a reset instead of an orderly end, unless the kernel still has
  // bytes to send: those go first, and an orderly end follows them.
  void ResetOnClose();

 private:
  int fd_ = -1;
};

}  // namespace mcscope::io

#endif  // MCSCOPE_PROXY_IO_SOCKET_H_
