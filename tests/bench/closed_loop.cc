// Closed-loop load for the cost benchmark: every connection sends a batch of requests in one write
// and the next one when all of the batch is answered. Every byte of every reply is compared with
// what memcached must say; whatever differs ends the program with exit status 1.
//
// Prints one line of JSON: rate, latencies and, with --process, the CPU time that process spent per
// request. Latency is from the batch's write to the reply's last byte. A closed loop omits what it
// could not send while it waited, so its percentiles compare paths and say nothing about users.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

ABSL_FLAG(int, port, 0, "where memcached, or a proxy before it, listens on 127.0.0.1");
ABSL_FLAG(int, connections, 1, "connections");
ABSL_FLAG(int64_t, requests, 10000, "requests, over all connections");
ABSL_FLAG(int, value_size, 100, "bytes of every value");
ABSL_FLAG(int, set_percent, 10, "of 100 requests, how many are sets; the others are gets that hit");
ABSL_FLAG(int, pipeline, 1, "requests that a connection sends at once (at most 256)");
ABSL_FLAG(bool, store, true, "store every key first; without it an earlier run has stored them");
ABSL_FLAG(int, process, 0, "whose CPU time to report, by its id");

namespace mcscope {
namespace {

constexpr int kKeys = 1000;
constexpr int kMaxPipeline = 256;
constexpr int kStallMs = 10'000;
constexpr absl::string_view kStored = "STORED\r\n";
constexpr absl::string_view kCrlf = "\r\n";
constexpr absl::string_view kEnd = "\r\nEND\r\n";

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "closed_loop: %s\n", message.c_str());
  std::exit(1);
}

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Time on a CPU of all threads of a process, in nanoseconds.
int64_t CpuNs(int process) {
  // The kernel adds a slice up when it ends, and the proxy's last one may just be ending.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  int64_t total = 0;
  const std::string tasks = absl::StrCat("/proc/", process, "/task");
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    int64_t ns = 0;
    std::ifstream(task.path() / "schedstat") >> ns;
    total += ns;
  }
  return total;
}

// What is sent and expected: one header per key and kind, and values that differ between keys
// although they share memory (each starts one byte further into it).
class Corpus {
 public:
  explicit Corpus(size_t value_size) : value_size_(value_size), bytes_(value_size + kKeys, ' ') {
    std::minstd_rand random(1);
    for (char& byte : bytes_) byte = static_cast<char>('!' + random() % 90);
    for (int key = 0; key < kKeys; ++key) {
      sets_.push_back(absl::StrFormat("set k%03d 0 0 %d\r\n", key, value_size));
      gets_.push_back(absl::StrFormat("get k%03d\r\n", key));
      hits_.push_back(absl::StrFormat("VALUE k%03d 0 %d\r\n", key, value_size));
    }
  }

  absl::string_view set(int key) const { return sets_[key]; }
  absl::string_view get(int key) const { return gets_[key]; }
  absl::string_view hit(int key) const { return hits_[key]; }
  absl::string_view value(int key) const {
    return absl::string_view(bytes_).substr(key, value_size_);
  }

 private:
  const size_t value_size_;
  std::string bytes_;
  std::vector<std::string> sets_, gets_, hits_;
};

struct Piece {
  absl::string_view bytes;
  bool ends_reply = false;
};

class Connection {
 public:
  Connection(uint16_t port, const Corpus* corpus) : corpus_(corpus) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0) {
      Fail(absl::StrCat("port ", port, ": ", std::strerror(errno)));
    }
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }
  bool sending() const { return !outgoing_.empty(); }
  // Nothing is expected any more.
  bool answered() const { return expected_.empty(); }
  int64_t started() const { return started_; }

  void AddSet(int key) {
    outgoing_.insert(outgoing_.end(), {{corpus_->set(key)}, {corpus_->value(key)}, {kCrlf}});
    expected_.push_back({kStored, true});
  }
  void AddGet(int key) {
    outgoing_.push_back({corpus_->get(key)});
    expected_.insert(expected_.end(), {{corpus_->hit(key)}, {corpus_->value(key)}, {kEnd, true}});
  }
  void Start() {
    started_ = NowNs();
    Send();
  }

  // One write of what is left to send.
  void Send() {
    iovec pieces[3 * kMaxPipeline];
    size_t count = 0;
    for (const Piece& piece : outgoing_) {
      pieces[count++] = {const_cast<char*>(piece.bytes.data()), piece.bytes.size()};
    }
    msghdr message = {};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    const ssize_t sent = sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) Fail(absl::StrCat("send: ", std::strerror(errno)));
    for (size_t left = sent > 0 ? sent : 0; left > 0;) left -= Consume(&outgoing_, left);
  }

  // One read; how many replies it completed.
  int Receive(char* buffer, size_t size) {
    const ssize_t got = recv(fd_, buffer, size, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got < 0) Fail(absl::StrCat("recv: ", std::strerror(errno)));
    if (got == 0) Fail("the connection was closed");
    int completed = 0;
    absl::string_view bytes(buffer, static_cast<size_t>(got));
    while (!bytes.empty()) {
      if (expected_.empty()) Fail(absl::StrCat("not asked for: ", bytes.substr(0, 60)));
      const Piece next = expected_.front();
      const size_t common = std::min(bytes.size(), next.bytes.size());
      if (std::memcmp(bytes.data(), next.bytes.data(), common) != 0) {
        Fail(absl::StrCat("expected \"", next.bytes.substr(0, 60), "\", got \"",
                          bytes.substr(0, 60), "\""));
      }
      if (common == next.bytes.size() && next.ends_reply) ++completed;
      Consume(&expected_, common);
      bytes.remove_prefix(common);
    }
    return completed;
  }

 private:
  // Takes up to `count` bytes from the front piece; how many it took.
  static size_t Consume(std::deque<Piece>* pieces, size_t count) {
    absl::string_view& front = pieces->front().bytes;
    count = std::min(count, front.size());
    front.remove_prefix(count);
    if (front.empty()) pieces->pop_front();
    return count;
  }

  const Corpus* corpus_;
  int fd_ = -1;
  int64_t started_ = 0;
  std::deque<Piece> outgoing_, expected_;
};

class Load {
 public:
  Load() : corpus_(absl::GetFlag(FLAGS_value_size)), buffer_(256 << 10) {
    for (int i = 0; i < absl::GetFlag(FLAGS_connections); ++i) {
      connections_.emplace_back(static_cast<uint16_t>(absl::GetFlag(FLAGS_port)), &corpus_);
      Watch(&connections_.back(), EPOLL_CTL_ADD);
    }
  }

  // Every key once, so that every get hits.
  void StoreAll() {
    Connection& connection = connections_.front();
    for (int key = 0; key < kKeys; ++key) {
      connection.AddSet(key);
      unanswered_ = 1;
      Begin(&connection);
      Drive(/*refill=*/false);
    }
  }

  // Returns once that many are answered.
  void Run(int64_t requests) {
    latencies_.clear();
    latencies_.reserve(static_cast<size_t>(requests));
    unsent_ = unanswered_ = requests;
    for (Connection& connection : connections_) Refill(&connection);
    Drive(/*refill=*/true);
  }

  std::vector<int64_t>& latencies() { return latencies_; }

 private:
  void Watch(Connection* connection, int operation) const {
    epoll_event event = {};
    event.events = connection->sending() ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.ptr = connection;
    if (epoll_ctl(epoll_, operation, connection->fd(), &event) != 0) Fail("epoll_ctl");
  }

  void Begin(Connection* connection) const {
    connection->Start();
    if (connection->sending()) Watch(connection, EPOLL_CTL_MOD);
  }

  void Refill(Connection* connection) {
    int batch = 0;
    for (; batch < pipeline_ && unsent_ > 0; ++batch, --unsent_) {
      const int key = static_cast<int>(random_() % kKeys);
      if (static_cast<int>(random_() % 100) < set_percent_) {
        connection->AddSet(key);
      } else {
        connection->AddGet(key);
      }
    }
    if (batch > 0) Begin(connection);
  }

  void Drive(bool refill) {
    epoll_event events[256];
    while (unanswered_ > 0) {
      const int count = epoll_wait(epoll_, events, 256, kStallMs);
      if (count == 0) Fail(absl::StrCat("stalled with ", unanswered_, " unanswered"));
      for (int i = 0; i < count; ++i) {
        auto* connection = static_cast<Connection*>(events[i].data.ptr);
        if ((events[i].events & EPOLLOUT) != 0) {
          connection->Send();
          if (!connection->sending()) Watch(connection, EPOLL_CTL_MOD);
        }
        if ((events[i].events & ~uint32_t{EPOLLOUT}) != 0) Take(connection, refill);
      }
    }
  }

  void Take(Connection* connection, bool refill) {
    const int completed = connection->Receive(buffer_.data(), buffer_.size());
    unanswered_ -= completed;
    if (!refill) return;
    latencies_.insert(latencies_.end(), static_cast<size_t>(completed),
                      completed > 0 ? NowNs() - connection->started() : 0);
    if (completed > 0 && connection->answered()) Refill(connection);
  }

  const Corpus corpus_;
  const int pipeline_ = absl::GetFlag(FLAGS_pipeline);
  const int set_percent_ = absl::GetFlag(FLAGS_set_percent);
  const int epoll_ = epoll_create1(0);
  std::vector<char> buffer_;
  std::deque<Connection> connections_;
  std::minstd_rand random_{7};
  int64_t unsent_ = 0, unanswered_ = 0;
  std::vector<int64_t> latencies_;
};

double Percentile(const std::vector<int64_t>& sorted_ns, double q) {
  const auto rank = static_cast<size_t>(q * static_cast<double>(sorted_ns.size() - 1));
  return static_cast<double>(sorted_ns[rank]) / 1e3;
}

void Measure() {
  const int64_t requests = absl::GetFlag(FLAGS_requests);
  const int process = absl::GetFlag(FLAGS_process);
  Load load;
  if (absl::GetFlag(FLAGS_store)) load.StoreAll();
  load.Run(requests / 20 + 1);  // what is measured is the steady state
  const int64_t cpu_before = process > 0 ? CpuNs(process) : 0;
  const int64_t start = NowNs();
  load.Run(requests);
  const double seconds = static_cast<double>(NowNs() - start) / 1e9;
  const int64_t cpu_after = process > 0 ? CpuNs(process) : 0;
  std::vector<int64_t>& latencies = load.latencies();
  std::sort(latencies.begin(), latencies.end());
  const double count = static_cast<double>(requests);
  const double cpu_us = static_cast<double>(cpu_after - cpu_before) / 1e3 / count;
  absl::PrintF(
      "{\"rps\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,"
      "\"cpu_us\":%s}\n",
      count / seconds, Percentile(latencies, 0.5), Percentile(latencies, 0.99),
      Percentile(latencies, 0.999), Percentile(latencies, 1),
      process > 0 ? absl::StrFormat("%.4f", cpu_us) : "null");
}

bool FlagsAreGood() {
  const auto within = [](int64_t value, int64_t low, int64_t high) {
    return value >= low && value <= high;
  };
  return within(absl::GetFlag(FLAGS_port), 1, 65535) &&
         within(absl::GetFlag(FLAGS_connections), 1, 10'000) &&
         within(absl::GetFlag(FLAGS_requests), 1, 100'000'000) &&
         within(absl::GetFlag(FLAGS_value_size), 1, 1'000'000) &&
         within(absl::GetFlag(FLAGS_set_percent), 0, 100) &&
         within(absl::GetFlag(FLAGS_pipeline), 1, kMaxPipeline);
}

}  // namespace
}  // namespace mcscope

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  if (!mcscope::FlagsAreGood()) {
    std::fprintf(stderr, "closed_loop: a flag is missing or out of range; see --help\n");
    return 2;
  }
  mcscope::Measure();
}
