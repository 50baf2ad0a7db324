#include "tests/support/tcp_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mcscope::test {

const char* Name(Ending ending) {
  switch (ending) {
    case Ending::kOpen:
      return "open";
    case Ending::kEof:
      return "eof";
    case Ending::kReset:
      return "reset";
  }
  return "";
}

TcpClient::TcpClient(Fd fd) : fd_(std::move(fd)) {}

TcpClient::TcpClient(const Endpoint& endpoint, const ConnectOptions& options)
    : fd_(ConnectTo(endpoint, options)) {
  if (fd_.valid()) return;
  std::perror(endpoint.ToString().c_str());
  std::abort();
}

bool TcpClient::Pump(short events, absl::Duration limit, short* happened) {
  pollfd polled = {fd_.get(), events, 0};
  const int64_t ms = absl::ToInt64Milliseconds(absl::Ceil(limit, absl::Milliseconds(1)));
  const int ready = poll(&polled, 1, static_cast<int>(std::clamp<int64_t>(ms, 0, 3600000)));
  if (ready < 0 && errno == EINTR) return true;
  if (ready <= 0) return false;
  if (happened != nullptr) *happened = polled.revents;
  if ((polled.revents & (POLLIN | POLLHUP | POLLERR)) == 0) return true;
  char buffer[65536];
  const ssize_t got = recv(fd_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
  if (got > 0) {
    received_.append(buffer, static_cast<size_t>(got));
  } else if (got == 0) {
    ending_ = Ending::kEof;
  } else if (errno != EAGAIN && errno != EINTR) {
    ending_ = Ending::kReset;
  }
  return ending_ == Ending::kOpen;
}

bool TcpClient::Send(absl::string_view bytes, absl::Duration limit) {
  while (!bytes.empty()) {
    const size_t sent = SendSome(bytes);
    if (sent == std::string::npos) return false;
    bytes.remove_prefix(sent);
    if (bytes.empty()) break;
    // After memcached's end of stream there is nothing to poll for but the room to send.
    const short events = ending_ == Ending::kOpen ? POLLIN | POLLOUT : POLLOUT;
    if (!Pump(events, limit, nullptr) && ending_ != Ending::kEof) return false;
  }
  return true;
}

size_t TcpClient::SendSome(absl::string_view bytes) {
  const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (errno == EAGAIN || errno == EINTR) return 0;
  // What was received before a reset can still be read.
  while (ending_ == Ending::kOpen && Pump(POLLIN, absl::ZeroDuration(), nullptr)) {
  }
  if (ending_ == Ending::kOpen) ending_ = Ending::kReset;
  return std::string::npos;
}

bool TcpClient::ReadWhile(const std::function<bool()>& wanting, absl::Duration limit) {
  const absl::Time deadline = absl::Now() + limit;
  while (wanting()) {
    if (ending_ != Ending::kOpen) return false;
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return false;
    Pump(POLLIN, left, nullptr);
  }
  return true;
}

bool TcpClient::ReadUntil(absl::string_view end, absl::Duration limit) {
  return ReadUntilAfter(0, end, limit);
}

bool TcpClient::ReadUntilAfter(size_t from, absl::string_view end, absl::Duration limit) {
  const auto waiting = [&] {
    return received_.size() < from + end.size() || !absl::EndsWith(received_, end);
  };
  return ReadWhile(waiting, limit);
}

bool TcpClient::ReadBytes(size_t count, absl::Duration limit) {
  return ReadWhile([&] { return received_.size() < count; }, limit);
}

bool TcpClient::ReadToEnd(absl::Duration limit) {
  ReadWhile([] { return true; }, limit);
  return ending_ != Ending::kOpen;
}

void TcpClient::ReadUntilQuiet(absl::Duration quiet) {
  while (ending_ == Ending::kOpen && Pump(POLLIN, quiet, nullptr)) {
  }
}

std::string TcpClient::Ask(absl::string_view request, absl::string_view end) {
  Clear();
  Send(request);
  ReadUntil(end);
  return received_;
}

void TcpClient::HalfClose() { shutdown(fd_.get(), SHUT_WR); }

void TcpClient::Reset() {
  const linger now = {1, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  fd_.Close();
}

Step Send(std::string bytes) { return {Step::Kind::kSend, std::move(bytes)}; }
Step Pause(absl::Duration pause) { return {Step::Kind::kPause, "", pause}; }
Step Await(std::string end) { return {Step::Kind::kAwait, std::move(end)}; }
Step HalfClose() { return {Step::Kind::kHalfClose, ""}; }
Step Reset() { return {Step::Kind::kReset, ""}; }

Outcome RunScript(const Endpoint& endpoint, const Script& script, const RunOptions& options) {
  TcpClient client(endpoint);
  Outcome outcome;
  size_t awaited = 0;
  for (const Step& step : script) {
    switch (step.kind) {
      case Step::Kind::kSend:
        client.Send(step.bytes, options.limit);
        break;
      case Step::Kind::kPause:
        absl::SleepFor(step.pause + options.extra_pause);
        break;
      case Step::Kind::kAwait:
        outcome.awaited &= client.ReadUntilAfter(awaited, step.bytes, options.limit);
        awaited = client.received().size();
        break;
      case Step::Kind::kHalfClose:
        client.HalfClose();
        break;
      case Step::Kind::kReset:
        client.Reset();
        outcome.received = client.received();
        return outcome;
    }
  }
  const bool half_closed = std::any_of(script.begin(), script.end(), [](const Step& step) {
    return step.kind == Step::Kind::kHalfClose;
  });
  if (half_closed || options.to_end) {
    client.ReadToEnd(options.limit);  // memcached closes when its client has
  } else {
    client.ReadBytes(options.expected_bytes, options.limit);
    client.ReadUntilQuiet(options.quiet);
  }
  outcome.received = client.received();
  outcome.ending = client.ending();
  return outcome;
}

std::string Escaped(absl::string_view bytes, size_t limit) {
  if (bytes.size() <= limit) return absl::CHexEscape(bytes);
  return absl::StrCat(absl::CHexEscape(bytes.substr(0, limit / 2)), " ... (", bytes.size(),
                      " bytes) ... ", absl::CHexEscape(bytes.substr(bytes.size() - limit / 2)));
}

std::string ToString(const Script& script) {
  std::string text;
  for (const Step& step : script) {
    switch (step.kind) {
      case Step::Kind::kSend:
        absl::StrAppend(&text, "  send \"", Escaped(step.bytes), "\"\n");
        break;
      case Step::Kind::kPause:
        absl::StrAppend(&text, "  pause ", absl::FormatDuration(step.pause), "\n");
        break;
      case Step::Kind::kAwait:
        absl::StrAppend(&text, "  await \"", Escaped(step.bytes), "\"\n");
        break;
      case Step::Kind::kHalfClose:
        absl::StrAppend(&text, "  half-close\n");
        break;
      case Step::Kind::kReset:
        absl::StrAppend(&text, "  reset\n");
        break;
    }
  }
  return text;
}

std::string ToString(const Outcome& outcome) {
  return absl::StrCat(Name(outcome.ending), outcome.awaited ? "" : ", waited in vain", ", ",
                      outcome.received.size(), " bytes: \"", Escaped(outcome.received, 2000), "\"");
}

}  // namespace mcscope::test
