#include "proxy/io/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proxy/io/digits.h"

namespace mcscope::io {
namespace {

std::string HostPort(absl::string_view host, uint16_t port) {
  const bool is_v6 = host.find(':') != absl::string_view::npos;
  return is_v6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

// Splits `host:port` or `[v6]:port`; false when it is neither.
bool Split(absl::string_view text, absl::string_view* host, absl::string_view* port) {
  if (absl::ConsumePrefix(&text, "[")) {
    const size_t end = text.find("]:");
    if (end == absl::string_view::npos) return false;
    *host = text.substr(0, end);
    *port = text.substr(end + 2);
    return host->find(':') != absl::string_view::npos;
  }
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos || text.find(':', colon + 1) != absl::string_view::npos) {
    return false;  // a bare v6 address is ambiguous: it wants brackets
  }
  *host = text.substr(0, colon);
  *port = text.substr(colon + 1);
  return true;
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length) : length_(length) {
  std::memcpy(&storage_, address, length);
}

std::string SocketAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage_);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    return HostPort(text, ntohs(v4->sin_port));
  }
  if (family() == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage_);
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
    return HostPort(text, ntohs(v6->sin6_port));
  }
  return absl::StrCat("unix:", reinterpret_cast<const sockaddr_un*>(&storage_)->sun_path);
}

absl::StatusOr<Address> Address::Parse(absl::string_view text) {
  Address address;
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    if (rest.empty() || rest[0] != '/') {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' needs an absolute path behind unix:"));
    }
    if (rest.size() >= sizeof(sockaddr_un{}.sun_path)) {
      return absl::InvalidArgumentError(absl::StrCat("'", text, "' is longer than the ",
                                                     sizeof(sockaddr_un{}.sun_path) - 1,
                                                     " bytes a unix socket's path may have"));
    }
    address.path_ = std::string(rest);
    return address;
  }
  absl::string_view host, port;
  if (!Split(text, &host, &port) || host.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not host:port, [v6]:port or unix:/path"));
  }
  uint64_t number = 0;
  if (!ParseDigits(port, 65535, &number)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' has no port between 0 and 65535"));
  }
  address.host_ = std::string(host);
  address.port_ = static_cast<uint16_t>(number);
  return address;
}

std::string Address::ToString() const {
  return is_unix() ? absl::StrCat("unix:", path_) : HostPort(host_, port_);
}

absl::StatusOr<SocketAddress> Address::Resolve() const {
  if (is_unix()) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    return SocketAddress(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host_.c_str(), absl::StrCat(port_).c_str(), &hints, &found);
  if (error != 0) {
    return absl::NotFoundError(absl::StrCat("can't resolve '", host_, "': ", gai_strerror(error)));
  }
  // Where a name has both, IPv4: memcached's own default is 127.0.0.1, which `localhost` is second.
  const addrinfo* chosen = found;
  while (chosen != nullptr && chosen->ai_family != AF_INET) chosen = chosen->ai_next;
  if (chosen == nullptr) chosen = found;
  const SocketAddress address(chosen->ai_addr, chosen->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

}  // namespace mcscope::io
