// The app whose sets stall: it writes a set's header, its value and its CRLF apart, on a socket
// with Nagle's algorithm on, and waits for the reply.
#ifndef MCSCOPE_TESTS_SUPPORT_SPLIT_WRITER_H_
#define MCSCOPE_TESTS_SUPPORT_SPLIT_WRITER_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/endpoint.h"
#include "tests/support/tcp_client.h"

namespace mcscope::test {

class SplitWriter {
 public:
  explicit SplitWriter(const Endpoint& endpoint, size_t value_bytes = 600);

  // One set; how long it took until STORED was in.
  absl::Duration Set();
  // That many; how long each took.
  std::vector<absl::Duration> Sets(int count);

  // Whether every set so far was answered with STORED.
  bool all_stored() const { return all_stored_; }

 private:
  TcpClient client_;
  std::string value_;
  bool all_stored_ = true;
};

absl::Duration Median(std::vector<absl::Duration> durations);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_SPLIT_WRITER_H_
