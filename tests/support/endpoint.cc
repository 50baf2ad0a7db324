#include "tests/support/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

namespace mcscope::test {
namespace {

struct Address {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address ToAddress(const Endpoint& endpoint) {
  Address address;
  if (endpoint.path.empty()) {
    sockaddr_in in = {};
    in.sin_family = AF_INET;
    in.sin_port = htons(endpoint.port);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(&address.storage, &in, sizeof(in));
    address.length = sizeof(in);
    return address;
  }
  sockaddr_un un = {};
  un.sun_family = AF_UNIX;
  endpoint.path.copy(un.sun_path, sizeof(un.sun_path) - 1);
  std::memcpy(&address.storage, &un, sizeof(un));
  address.length = sizeof(un);
  return address;
}

void SetInt(const Fd& fd, int level, int option, int value) {
  setsockopt(fd.get(), level, option, &value, sizeof(value));
}

}  // namespace

std::string Endpoint::ToString() const {
  return path.empty() ? "127.0.0.1:" + std::to_string(port) : "unix:" + path;
}

Endpoint Port(uint16_t port) {
  Endpoint endpoint;
  endpoint.port = port;
  return endpoint;
}

Endpoint UnixPath(std::string path) {
  Endpoint endpoint;
  endpoint.path = std::move(path);
  return endpoint;
}

Fd ConnectTo(const Endpoint& endpoint, const ConnectOptions& options) {
  const Address address = ToAddress(endpoint);
  Fd fd(socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  if (options.receive_buffer > 0) SetInt(fd, SOL_SOCKET, SO_RCVBUF, options.receive_buffer);
  if (endpoint.path.empty()) SetInt(fd, IPPROTO_TCP, TCP_NODELAY, options.nodelay ? 1 : 0);
  if (connect(fd.get(), address.get(), address.length) != 0) return Fd();
  return fd;
}

Fd ConnectWithoutWaiting(const Endpoint& endpoint) {
  const Address address = ToAddress(endpoint);
  Fd fd(socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.valid()) (void)!connect(fd.get(), address.get(), address.length);
  return fd;
}

Fd ListenOn(const Endpoint& endpoint, int backlog) {
  const Address address = ToAddress(endpoint);
  Fd fd(socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  SetInt(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(fd.get(), address.get(), address.length) != 0) return Fd();
  if (listen(fd.get(), backlog) != 0) return Fd();
  return fd;
}

uint16_t LocalPort(const Fd& socket) {
  sockaddr_in in = {};
  socklen_t length = sizeof(in);
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&in), &length);
  return ntohs(in.sin_port);
}

uint16_t PickPort() {
  static std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> ports(12000, 31999);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const Endpoint endpoint = Port(static_cast<uint16_t>(ports(random)));
    if (ListenOn(endpoint).valid()) return endpoint.port;
  }
  return 0;
}

}  // namespace mcscope::test
