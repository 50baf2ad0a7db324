// The floor of the cost benchmark: the cheapest relay of TCP connections that epoll allows. One
// thread, one connection to the upstream per client, one recv and one send per hop, and not a look
// at the bytes. What a proxy costs on top of it is what the proxy itself costs.
//
// Usage: floor_relay UPSTREAM_PORT [--quickack] [--idle_thread]
// Prints the port it listens on. All on 127.0.0.1.
// --quickack: tell each client's kernel at once what has arrived.
// --idle_thread: a second thread that sleeps for ever. The kernel guards the descriptors of a
// process with several threads more carefully, at every system call.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kScratchSize = 256 << 10;
constexpr int kEventsPerTurn = 256;

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::exit(1);
}

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void Switch(int fd, int option) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, option, &on, sizeof(on));
}

// One socket and the one its bytes go to.
struct Side {
  int fd = -1;
  bool is_client = false;
  Side* peer = nullptr;
  std::string rest;  // what the peer sent and this socket did not take yet
};

class Relay {
 public:
  Relay(uint16_t upstream_port, bool quickack)
      : upstream_(Loopback(upstream_port)),
        quickack_(quickack),
        listener_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)),
        epoll_(epoll_create1(0)),
        scratch_(kScratchSize) {
    sockaddr_in address = Loopback(0);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        listen(listener_, SOMAXCONN) != 0) {
      Die("listen");
    }
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;  // stands for the listener
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event) != 0) Die("epoll_ctl");
  }

  uint16_t port() const {
    sockaddr_in address = {};
    socklen_t size = sizeof(address);
    if (getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      Die("getsockname");
    }
    return ntohs(address.sin_port);
  }

  void Turn() {
    epoll_event events[kEventsPerTurn];
    const int count = epoll_wait(epoll_, events, kEventsPerTurn, -1);
    for (int i = 0; i < count; ++i) {
      auto* side = static_cast<Side*>(events[i].data.ptr);
      if (side == nullptr) {
        Accept();
      } else {
        if ((events[i].events & EPOLLOUT) != 0 && side->fd >= 0) SendRest(side);
        if ((events[i].events & ~uint32_t{EPOLLOUT}) != 0 && side->fd >= 0) Pass(side);
      }
    }
    for (Side* side : closed_) delete side;  // no event of this turn can name them any more
    closed_.clear();
  }

 private:
  void Accept() {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
    if (client < 0) return;
    const int upstream = socket(AF_INET, SOCK_STREAM, 0);
    if (upstream < 0 ||
        connect(upstream, reinterpret_cast<sockaddr*>(&upstream_), sizeof(upstream_)) != 0) {
      Die("connect");
    }
    auto* near = new Side{client, true, nullptr, {}};
    auto* far = new Side{upstream, false, near, {}};
    near->peer = far;
    for (Side* side : {near, far}) {
      Switch(side->fd, TCP_NODELAY);
      Watch(side, EPOLL_CTL_ADD, EPOLLIN);
    }
  }

  void Watch(Side* side, int operation, uint32_t events) {
    epoll_event event = {};
    event.events = events;
    event.data.ptr = side;
    if (epoll_ctl(epoll_, operation, side->fd, &event) != 0) Die("epoll_ctl");
  }

  // A socket is read while its peer takes what it brings.
  void WatchBoth(Side* side) {
    for (Side* each : {side, side->peer}) {
      uint32_t events = 0;
      if (!each->rest.empty()) events |= EPOLLOUT;
      if (each->peer->rest.empty()) events |= EPOLLIN;
      Watch(each, EPOLL_CTL_MOD, events);
    }
  }

  void Pass(Side* from) {
    if (!from->peer->rest.empty()) return Close(from);  // not watched for bytes: it is gone
    const ssize_t got = recv(from->fd, scratch_.data(), scratch_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return Close(from);
    if (quickack_ && from->is_client) Switch(from->fd, TCP_QUICKACK);
    const ssize_t sent = Send(from->peer, scratch_.data(), static_cast<size_t>(got));
    if (sent == got || sent < 0) return;
    from->peer->rest.assign(scratch_.data() + sent, static_cast<size_t>(got - sent));
    WatchBoth(from);
  }

  void SendRest(Side* side) {
    const ssize_t sent = Send(side, side->rest.data(), side->rest.size());
    if (sent < 0) return;
    side->rest.erase(0, static_cast<size_t>(sent));
    if (side->rest.empty()) WatchBoth(side);
  }

  // What the kernel took; -1 when the pair had to be closed.
  ssize_t Send(Side* to, const char* bytes, size_t size) {
    const ssize_t sent = send(to->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    if (errno == EAGAIN) return 0;
    Close(to);
    return -1;
  }

  void Close(Side* side) {
    for (Side* each : {side, side->peer}) {
      close(each->fd);
      each->fd = -1;
      closed_.push_back(each);
    }
  }

  sockaddr_in upstream_;
  const bool quickack_;
  const int listener_;
  const int epoll_;
  std::vector<char> scratch_;
  std::vector<Side*> closed_;
};

}  // namespace

int main(int argc, char** argv) {
  const int port = argc > 1 ? std::atoi(argv[1]) : 0;
  bool quickack = false, idle_thread = false, understood = port > 0 && port <= 65535;
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quickack") == 0) {
      quickack = true;
    } else if (std::strcmp(argv[i], "--idle_thread") == 0) {
      idle_thread = true;
    } else {
      understood = false;
    }
  }
  if (!understood) {
    std::fprintf(stderr, "usage: floor_relay UPSTREAM_PORT [--quickack] [--idle_thread]\n");
    return 2;
  }
  if (idle_thread) {
    std::thread([] {
      for (;;) pause();
    }).detach();
  }
  Relay relay(static_cast<uint16_t>(port), quickack);
  std::printf("%u\n", static_cast<unsigned>(relay.port()));
  std::fflush(stdout);
  for (;;) relay.Turn();
}
