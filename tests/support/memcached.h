// A real memcached of the test's own.
#ifndef MCSCOPE_TESTS_SUPPORT_MEMCACHED_H_
#define MCSCOPE_TESTS_SUPPORT_MEMCACHED_H_

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/endpoint.h"
#include "tests/support/subprocess.h"

namespace mcscope::test {

class Memcached {
 public:
  // Listens on a free loopback port, with `options` added to its command line; running and
  // answering when the constructor is through.
  explicit Memcached(std::vector<std::string> options = {});
  // Likewise, where the test says.
  Memcached(Endpoint endpoint, std::vector<std::string> options);

  const Endpoint& endpoint() const { return endpoint_; }
  uint16_t port() const { return endpoint_.port; }
  Subprocess& process() { return *process_; }

  // Ends at once, without a word to its clients but the kernel's.
  void Kill();
  // A fresh one in the same place; ends the present one before. Everything about it starts from
  // zero: items, cas ids, statistics.
  void Restart();

  // While stopped it accepts (the kernel does) and receives, but never answers.
  void Stop() { process_->Signal(SIGSTOP); }
  void Continue() { process_->Signal(SIGCONT); }

  // One request on a connection of its own; the reply up to and including `end`.
  std::string Ask(const std::string& request, const std::string& end = "\r\n") const;

 private:
  bool Start();

  Endpoint endpoint_;
  std::vector<std::string> options_;
  std::unique_ptr<Subprocess> process_;
};

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_MEMCACHED_H_
