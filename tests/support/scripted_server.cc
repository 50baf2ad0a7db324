#include "tests/support/scripted_server.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "tests/support/wait.h"

namespace mcscope::test {

Peer::Peer(Fd fd) : fd_(std::move(fd)) {}

bool Peer::ReadMore() {
  pollfd polled = {fd_.get(), POLLIN, 0};
  while (poll(&polled, 1, 20) == 0) {
    if (abandoned_) return false;
  }
  char buffer[262144];
  const ssize_t got = recv(fd_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return !abandoned_;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (got <= 0) {
    ended_ = true;
    return false;
  }
  reads_.emplace_back(buffer, static_cast<size_t>(got));
  unread_ += reads_.back();
  return true;
}

std::string Peer::ReadUntil(absl::string_view end) {
  size_t at;
  while ((at = unread_.find(end.data(), 0, end.size())) == std::string::npos) {
    if (!ReadMore()) return "";
  }
  return ReadBytes(at + end.size());
}

std::string Peer::ReadBytes(size_t count) {
  while (unread_.size() < count) {
    if (!ReadMore()) return "";
  }
  std::string bytes = unread_.substr(0, count);
  unread_.erase(0, count);
  return bytes;
}

bool Peer::Write(absl::string_view bytes) {
  while (!bytes.empty() && !abandoned_) {
    const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd polled = {fd_.get(), POLLOUT, 0};
      poll(&polled, 1, 20);
    } else {
      return false;
    }
  }
  return bytes.empty();
}

void Peer::Close() {
  const uint32_t segments = this->segments();
  const std::lock_guard<std::mutex> lock(mutex_);
  segments_at_close_ = segments;
  closed_ = true;
  fd_.Close();
}

void Peer::HalfClose() { shutdown(fd_.get(), SHUT_WR); }

void Peer::Reset() {
  const linger now = {1, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  Close();
}

void Peer::StayOpen() { Delay(absl::Hours(1)); }

void Peer::Delay(absl::Duration delay) {
  const absl::Time end = absl::Now() + delay;
  for (absl::Duration left = delay; left > absl::ZeroDuration() && !abandoned_;
       left = end - absl::Now()) {
    absl::SleepFor(std::min(left, absl::Milliseconds(20)));
  }
}

std::vector<std::string> Peer::reads() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return reads_;
}

std::string Peer::received() const {
  std::string all;
  for (const std::string& read : reads()) all += read;
  return all;
}

uint32_t Peer::segments() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return segments_at_close_;
  tcp_info info = {};
  socklen_t length = sizeof(info);
  getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &length);
  return info.tcpi_data_segs_in;
}

bool Peer::ended() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ended_;
}

void Peer::Abandon() { abandoned_ = true; }

ScriptedServer::ScriptedServer(Behaviour behaviour)
    : ScriptedServer(std::move(behaviour), Port(0)) {}

ScriptedServer::ScriptedServer(Behaviour behaviour, const Endpoint& endpoint)
    : behaviour_(std::move(behaviour)), endpoint_(endpoint), listener_(ListenOn(endpoint, 1024)) {
  if (!listener_.valid()) std::abort();
  if (endpoint_.path.empty()) endpoint_.port = LocalPort(listener_);
  acceptor_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  stopping_ = true;
  acceptor_.join();
  std::vector<std::thread> threads;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& peer : peers_) peer->Abandon();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void ScriptedServer::Accept() {
  while (!stopping_) {
    pollfd polled = {listener_.get(), POLLIN, 0};
    if (poll(&polled, 1, 20) <= 0) continue;
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    const int index = static_cast<int>(peers_.size());
    peers_.push_back(std::make_unique<Peer>(std::move(fd)));
    threads_.emplace_back([this, index, peer = peers_.back().get()] {
      behaviour_(*peer, index);
      peer->Close();
    });
  }
}

int ScriptedServer::connections() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(peers_.size());
}

Peer& ScriptedServer::peer(int index) {
  if (!Eventually([&] { return connections() > index; })) std::abort();
  const std::lock_guard<std::mutex> lock(mutex_);
  return *peers_[static_cast<size_t>(index)];
}

void AnswerAtOnce(Peer& peer, int) {
  static const std::map<std::string, std::string> answers = {
      {"get", "END\r\n"},      {"gets", "END\r\n"},     {"delete", "DELETED\r\n"},
      {"incr", "1\r\n"},       {"decr", "0\r\n"},       {"touch", "TOUCHED\r\n"},
      {"mg", "EN\r\n"},        {"mn", "MN\r\n"},        {"version", "VERSION 1.6.18\r\n"},
      {"flush_all", "OK\r\n"}, {"verbosity", "OK\r\n"},
  };
  for (;;) {
    const std::string line = peer.ReadUntil("\r\n");
    if (line.empty()) return;
    const std::vector<std::string> words = absl::StrSplit(line.substr(0, line.size() - 2), ' ');
    const auto found = answers.find(words[0]);
    size_t length = 0;
    if (found != answers.end()) {
      peer.Write(found->second);
    } else if (words.size() >= 5 && absl::SimpleAtoi(words[4], &length)) {
      if (peer.ReadBytes(length + 2).empty()) return;
      if (words.back() != "noreply") peer.Write("STORED\r\n");
    } else {
      peer.Write("ERROR\r\n");
    }
  }
}

}  // namespace mcscope::test
