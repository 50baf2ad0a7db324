// A raw client: sends bytes exactly as chunked as the test wants, keeps all that came back, and
// notes how the connection ended.
//
// One thread at a time.
#ifndef MCSCOPE_TESTS_SUPPORT_TCP_CLIENT_H_
#define MCSCOPE_TESTS_SUPPORT_TCP_CLIENT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/support/endpoint.h"
#include "tests/support/fd.h"
#include "tests/support/wait.h"

namespace mcscope::test {

// How a connection ended, seen from the client.
enum class Ending { kOpen, kEof, kReset };
const char* Name(Ending ending);

class TcpClient {
 public:
  explicit TcpClient(Fd fd);
  // Connects; aborts the test program when nobody listens there.
  explicit TcpClient(const Endpoint& endpoint, const ConnectOptions& options = {});

  // Sends all of it, reading meanwhile what comes, so that two full buffers never lock. False when
  // the connection ended first or the other side took nothing for `limit`.
  bool Send(absl::string_view bytes, absl::Duration limit = kPatience);
  // As much as the kernel takes at once, without reading; npos when it never will again.
  size_t SendSome(absl::string_view bytes);

  // Reads until what was received (since the last Clear) ends with `end`, holds `count` bytes, or
  // the connection has ended; false when it did not come to that within `limit`, or ended first.
  bool ReadUntil(absl::string_view end, absl::Duration limit = kPatience);
  // Likewise, not counting the first `from` bytes.
  bool ReadUntilAfter(size_t from, absl::string_view end, absl::Duration limit = kPatience);
  bool ReadBytes(size_t count, absl::Duration limit = kPatience);
  bool ReadToEnd(absl::Duration limit = kPatience);
  // Reads until nothing has come for `quiet`.
  void ReadUntilQuiet(absl::Duration quiet);

  // One request and its reply: Clear, Send, ReadUntil, and what was received.
  std::string Ask(absl::string_view request, absl::string_view end = "\r\n");

  void HalfClose();
  // Ends the connection with a reset (SO_LINGER 0).
  void Reset();
  void Close() { fd_.Close(); }

  const std::string& received() const { return received_; }
  void Clear() { received_.clear(); }
  Ending ending() const { return ending_; }
  const Fd& fd() const { return fd_; }

 private:
  // Waits up to `limit` for `events`, then reads what is there; false at the limit or the end.
  bool Pump(short events, absl::Duration limit, short* happened);
  bool ReadWhile(const std::function<bool()>& wanting, absl::Duration limit);

  Fd fd_;
  std::string received_;
  Ending ending_ = Ending::kOpen;
};

// --- what a client does, as data ---

struct Step {
  enum class Kind { kSend, kPause, kAwait, kHalfClose, kReset };
  Kind kind;
  std::string bytes;  // kSend: what; kAwait: what comes last, since the kAwait before
  absl::Duration pause = absl::ZeroDuration();
};
using Script = std::vector<Step>;

Step Send(std::string bytes);
Step Pause(absl::Duration pause);
Step Await(std::string end);  // the pause of a client that waits for its reply
Step HalfClose();
Step Reset();

// What a client saw of a whole script.
struct Outcome {
  std::string received;
  Ending ending = Ending::kOpen;
  bool awaited = true;  // every kAwait came true in time

  friend bool operator==(const Outcome& a, const Outcome& b) {
    return a.received == b.received && a.ending == b.ending && a.awaited == b.awaited;
  }
};

struct RunOptions {
  absl::Duration extra_pause = absl::ZeroDuration();  // added to every kPause
  // After the script the client reads on until the connection has ended, if `to_end` is set or it
  // has half-closed. Else until, once this many bytes have come, nothing has come for `quiet`.
  bool to_end = false;
  size_t expected_bytes = 0;
  absl::Duration quiet = absl::Milliseconds(60);
  absl::Duration limit = kPatience;
};

Outcome RunScript(const Endpoint& endpoint, const Script& script, const RunOptions& options);

// For people: one step a line, bytes escaped, long ones shortened.
std::string ToString(const Script& script);
std::string ToString(const Outcome& outcome);
std::string Escaped(absl::string_view bytes, size_t limit = 400);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_TCP_CLIENT_H_
