#include "tests/support/memcached.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "tests/support/tcp_client.h"
#include "tests/support/wait.h"

namespace mcscope::test {
namespace {

bool Answers(const Endpoint& endpoint) {
  Fd fd = ConnectTo(endpoint);
  if (!fd.valid()) return false;
  TcpClient client(std::move(fd));
  client.Send("version\r\n");
  return client.ReadUntil("\r\n", absl::Seconds(2));
}

}  // namespace

Memcached::Memcached(std::vector<std::string> options) : options_(std::move(options)) {
  // Another program may take the port between our look and memcached's.
  for (int attempt = 0; attempt < 20; ++attempt) {
    endpoint_ = Port(PickPort());
    if (Start()) return;
  }
  std::abort();
}

Memcached::Memcached(Endpoint endpoint, std::vector<std::string> options)
    : endpoint_(std::move(endpoint)), options_(std::move(options)) {
  if (!Start()) std::abort();
}

bool Memcached::Start() {
  Command command;
  command.argv = {"memcached", "-t", "2", "-c", "8192"};
  if (endpoint_.path.empty()) {
    for (const char* word : {"-l", "127.0.0.1", "-p"}) command.argv.emplace_back(word);
    command.argv.push_back(std::to_string(endpoint_.port));
  } else {
    command.argv.insert(command.argv.end(), {"-s", endpoint_.path, "-a", "0777"});
  }
  command.argv.insert(command.argv.end(), options_.begin(), options_.end());
  // Not with -u, which would lose the kernel's promise to kill it when the test dies.
  command.as_nobody = true;
  process_ = std::make_unique<Subprocess>(command);
  const auto up_or_ended = [this] { return !process_->Running() || Answers(endpoint_); };
  return Eventually(up_or_ended) && process_->Running();
}

void Memcached::Kill() {
  process_->Signal(SIGKILL);
  process_->Wait(kPatience);
}

void Memcached::Restart() {
  Kill();
  if (!Eventually([this] { return Start(); })) std::abort();
}

std::string Memcached::Ask(const std::string& request, const std::string& end) const {
  TcpClient client(ConnectTo(endpoint_));
  client.Send(request);
  client.ReadUntil(end, kPatience);
  return client.received();
}

}  // namespace mcscope::test
