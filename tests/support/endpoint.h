// Where something listens: a loopback port or a unix socket.
#ifndef MCSCOPE_TESTS_SUPPORT_ENDPOINT_H_
#define MCSCOPE_TESTS_SUPPORT_ENDPOINT_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "tests/support/fd.h"

namespace mcscope::test {

struct Endpoint {
  uint16_t port = 0;  // on 127.0.0.1; unused when `path` is set
  std::string path;   // of a unix socket

  // As the proxy's flags spell it: "127.0.0.1:11211" or "unix:/path".
  std::string ToString() const;
};

Endpoint Port(uint16_t port);
Endpoint UnixPath(std::string path);

struct ConnectOptions {
  bool nodelay = true;     // TCP_NODELAY; false leaves Nagle's algorithm on
  int receive_buffer = 0;  // SO_RCVBUF in bytes, set before connecting; 0 keeps the default
};

// A connected blocking socket, or an invalid Fd with errno set.
Fd ConnectTo(const Endpoint& endpoint, const ConnectOptions& options = {});

// A socket on which connecting has begun, however that goes on.
Fd ConnectWithoutWaiting(const Endpoint& endpoint);

// A listening socket on `endpoint` (port 0: any free one), or an invalid Fd with errno set.
Fd ListenOn(const Endpoint& endpoint, int backlog = 128);

// The local port of a socket.
uint16_t LocalPort(const Fd& socket);

// A loopback port that is free now and that the kernel gives to nobody by itself, being below the
// range of ephemeral ports: a server may be stopped and started on it again.
uint16_t PickPort();

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_ENDPOINT_H_
