// A memcached that does as the test says: the far end of the proxy, for what the real one can not
// be made to do (wait for so long, answer in pieces, end in mid reply) or to tell (how many
// writes).
#ifndef MCSCOPE_TESTS_SUPPORT_SCRIPTED_SERVER_H_
#define MCSCOPE_TESTS_SUPPORT_SCRIPTED_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/support/endpoint.h"
#include "tests/support/fd.h"

namespace mcscope::test {

// One accepted connection. The behaviour runs on a thread of its own and makes the calls of the
// first group; the test's thread may make those of the second at any time.
class Peer {
 public:
  explicit Peer(Fd fd);

  // --- the behaviour's thread ---

  // The bytes up to and including the next `end`; "" when the stream ends first.
  std::string ReadUntil(absl::string_view end);
  std::string ReadBytes(size_t count);
  bool Write(absl::string_view bytes);
  void Close();
  void HalfClose();
  void Reset();
  // Nothing more is read or written until the test is over.
  void StayOpen();
  // Sleeps, but no longer than the test goes on.
  void Delay(absl::Duration delay);

  // --- any thread ---

  // What each recv brought, in order.
  std::vector<std::string> reads() const;
  std::string received() const;
  // Data segments the kernel received: a lower bound for the writes of the other side that no slow
  // reader can blur, given TCP_NODELAY there.
  uint32_t segments() const;
  bool ended() const;  // the other side closed or reset

  void Abandon();  // makes every wait of the behaviour end

 private:
  bool ReadMore();

  Fd fd_;
  std::string unread_;        // received, not yet taken by the behaviour
  mutable std::mutex mutex_;  // for what follows
  std::vector<std::string> reads_;
  bool ended_ = false;
  uint32_t segments_at_close_ = 0;
  bool closed_ = false;
  std::atomic<bool> abandoned_{false};
};

class ScriptedServer {
 public:
  // What to do with the connection number `index` (from 0); it is closed when this returns.
  using Behaviour = std::function<void(Peer& peer, int index)>;

  explicit ScriptedServer(Behaviour behaviour);
  ScriptedServer(Behaviour behaviour, const Endpoint& endpoint);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  const Endpoint& endpoint() const { return endpoint_; }
  int connections() const;
  // Lives as long as the server. Waits for the connection to come.
  Peer& peer(int index);

 private:
  void Accept();

  Behaviour behaviour_;
  Endpoint endpoint_;
  Fd listener_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // for what follows
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// Answers at once, as an empty memcached would that takes all it is given.
void AnswerAtOnce(Peer& peer, int index);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_SCRIPTED_SERVER_H_
