// Where to listen or connect: `host:port`, `[v6]:port` or `unix:/path`, and what it resolves to.
#ifndef MCSCOPE_PROXY_IO_ADDRESS_H_
#define MCSCOPE_PROXY_IO_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mcscope::io {

// A socket address the kernel takes. A value.
class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t length);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }
  int family() const { return storage_.ss_family; }
  bool is_unix() const { return family() == AF_UNIX; }

  // In the form Address::Parse reads.
  std::string ToString() const;

 private:
  sockaddr_storage storage_ = {};
  socklen_t length_ = 0;
};

// What the user wrote, checked for form only. A value.
class Address {
 public:
  // Errors: InvalidArgument with the reason, without the flag's name.
  static absl::StatusOr<Address> Parse(absl::string_view text);

  bool is_unix() const { return !path_.empty(); }
  const std::string& host() const { return host_; }
  uint16_t port() const { return port_; }
  const std::string& path() const { return path_; }
  std::string ToString() const;

  // The first IPv4 socket address of the host's name, or its first of any kind. May block on DNS:
  // at set-up only. Errors: NotFound with the resolver's reason.
  absl::StatusOr<SocketAddress> Resolve() const;

 private:
  std::string host_;
  uint16_t port_ = 0;
  std::string path_;
};

}  // namespace mcscope::io

#endif  // MCSCOPE_PROXY_IO_ADDRESS_H_
