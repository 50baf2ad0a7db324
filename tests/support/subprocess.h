// A child process with captured output. It is killed when its owner goes, and when the test program
// dies in whatever way; it never stays behind as a zombie.
//
// One thread of the object's own collects the output; all calls are for the owner's thread.
#ifndef MCSCOPE_TESTS_SUPPORT_SUBPROCESS_H_
#define MCSCOPE_TESTS_SUPPORT_SUBPROCESS_H_

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "tests/support/fd.h"

namespace mcscope::test {

struct Command {
  std::vector<std::string> argv;         // argv[0] is looked up in PATH
  std::vector<std::string> environment;  // NAME=value, besides the inherited ones
  std::string directory;                 // to start in; empty: here
  int file_limit = 0;      // RLIMIT_NOFILE, soft and hard; 0: raised to the hard limit
  bool as_nobody = false;  // give up root's rights first, where the test has them
};

class Subprocess {
 public:
  explicit Subprocess(const Command& command);
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }

  // What it wrote until now.
  std::string Stdout() const;
  std::string Stderr() const;

  // The first line of either stream that matches the ECMAScript regular expression `pattern`, as
  // soon as it is there: the whole match, then its groups. Empty when `limit` passes or the streams
  // end without it.
  std::vector<std::string> WaitForLine(const std::string& pattern, absl::Duration limit);

  void Signal(int signal);

  // The exit status (minus the signal's number when one killed it) once it has ended; nullopt when
  // it still runs after `limit`. Its output is complete then.
  absl::optional<int> Wait(absl::Duration limit);

  bool Running() { return !Wait(absl::ZeroDuration()).has_value(); }

 private:
  void Collect();

  pid_t pid_ = -1;
  absl::optional<int> status_;
  Fd out_, err_;
  std::atomic<bool> abandoned_{false};  // grandchildren may hold the pipes open for ever
  mutable std::mutex mutex_;            // for what follows
  std::string stdout_;
  std::string stderr_;
  bool streams_ended_ = false;
  std::thread collector_;
};

// Runs a program to its end; its exit status, and what it wrote.
struct Finished {
  absl::optional<int> status;  // nullopt: killed after `limit`
  std::string stdout_text, stderr_text;
};
Finished RunToEnd(const Command& command, absl::Duration limit);

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_SUBPROCESS_H_
