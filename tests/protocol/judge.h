// Asks the real memcached whether framing and pairing foretold what it does.
#ifndef MCSCOPE_TESTS_PROTOCOL_JUDGE_H_
#define MCSCOPE_TESTS_PROTOCOL_JUDGE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/protocol/framing.h"
#include "tests/support/memcached.h"
#include "tests/support/tcp_client.h"

namespace mcscope::protocol {

class Judge {
 public:
  // `options` are memcached's.
  explicit Judge(Dialect dialect = Dialect::kText, std::vector<std::string> options = {});

  // Sends the stream's requests one at a time, each followed by a fence: a request with a reply
  // that nothing else has. What came before the fence's reply must be just what the request
  // foretold, or a test failure is added.
  void OneByOne(const std::string& stream);

  // Sends all of them at once, in pieces as they fall, up to one that ends the connection, and
  // pairs the replies. Adds a test failure when a reply fits nobody, or somebody who was sure of
  // one is left without.
  void AsPipeline(const std::string& stream, const Cuts& cuts);

  // Sends the first `cut` bytes of a single request, and expects silence where the framer says that
  // it is holdable; then the others, as above.
  void InTwo(const std::string& request, size_t cut);

  // Pipelines so far, and those whose pairing was declared unsure.
  int pipelines() const { return pipelines_; }
  int unsure() const { return unsure_; }

 private:
  // A request with a reply that nothing else has.
  struct Fence {
    std::string request, reply;
  };
  struct Answers {
    bool fenced = false;  // the fence's reply came; else the connection has ended
    Framed<Reply> replies;
  };

  void Connect();
  Fence NextFence();
  // `ends`: memcached is expected to close behind them.
  Answers SendAndCollect(absl::string_view bytes, const Cuts& cuts, bool ends);
  void ExpectForetold(const Frame<Request>& frame, const Answers& answers);
  void ExpectPairing(const std::vector<Request>& requests, const Framed<Reply>& replies);
  bool ProcessedAll();

  const Dialect dialect_;
  test::Memcached memcached_;
  std::unique_ptr<test::TcpClient> client_, witness_;
  int fences_ = 0;
  int pipelines_ = 0;
  int unsure_ = 0;
};

}  // namespace mcscope::protocol

#endif  // MCSCOPE_TESTS_PROTOCOL_JUDGE_H_
