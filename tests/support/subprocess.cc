#include "tests/support/subprocess.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <regex>
#include <utility>

#include "tests/support/wait.h"

namespace mcscope::test {
namespace {

// Everything the child needs between fork and exec, made before the fork: this program has threads,
// so the child may call async-signal-safe functions only.
struct Launch {
  std::vector<char*> argv, environment;
  const char* directory = nullptr;
  rlimit files = {};
  uid_t uid = 0;
  gid_t gid = 0;
  bool change_user = false;
  pid_t parent = 0;
  int out = -1, err = -1;
};

[[noreturn]] void BecomeProgram(const Launch& launch) {
  dup2(launch.out, STDOUT_FILENO);
  dup2(launch.err, STDERR_FILENO);
  setrlimit(RLIMIT_NOFILE, &launch.files);
  if (launch.change_user &&
      (setgroups(0, nullptr) != 0 || setgid(launch.gid) != 0 || setuid(launch.uid) != 0)) {
    _exit(126);
  }
  // After the change of user, which would clear it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launch.parent) _exit(126);
  if (launch.directory != nullptr && chdir(launch.directory) != 0) _exit(126);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvpe(launch.argv[0], launch.argv.data(), launch.environment.data());
  _exit(127);
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

rlimit FileLimit(int wanted) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (wanted > 0) return {static_cast<rlim_t>(wanted), static_cast<rlim_t>(wanted)};
  return {limit.rlim_max, limit.rlim_max};
}

std::pair<Fd, Fd> Pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

Subprocess::Subprocess(const Command& command) {
  Launch launch;
  std::vector<std::string> environment = command.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  launch.argv = Pointers(command.argv);
  launch.environment = Pointers(environment);
  if (!command.directory.empty()) launch.directory = command.directory.c_str();
  launch.files = FileLimit(command.file_limit);
  if (command.as_nobody && getuid() == 0) {
    const passwd* nobody = getpwnam("nobody");
    if (nobody == nullptr) std::abort();
    launch.uid = nobody->pw_uid;
    launch.gid = nobody->pw_gid;
    launch.change_user = true;
  }
  launch.parent = getpid();
  auto [out_read, out_write] = Pipe();
  auto [err_read, err_write] = Pipe();
  launch.out = out_write.get();
  launch.err = err_write.get();
  pid_ = fork();
  if (pid_ < 0) std::abort();
  if (pid_ == 0) BecomeProgram(launch);
  out_ = std::move(out_read);
  err_ = std::move(err_read);
  collector_ = std::thread([this] { Collect(); });
}

Subprocess::~Subprocess() {
  if (Running()) {
    Signal(SIGKILL);
    Wait(absl::InfiniteDuration());
  }
  abandoned_ = true;
  collector_.join();
}

std::string Subprocess::Stdout() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stdout_;
}

std::string Subprocess::Stderr() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stderr_;
}

std::vector<std::string> Subprocess::WaitForLine(const std::string& pattern, absl::Duration limit) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  Eventually(
      [&] {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const std::string* stream : {&stdout_, &stderr_}) {
          std::smatch match;
          const std::string lines = stream->substr(0, stream->rfind('\n') + 1);
          if (std::regex_search(lines, match, regex)) {
            found.assign(match.begin(), match.end());
            return true;
          }
        }
        return streams_ended_;
      },
      limit);
  return found;
}

void Subprocess::Signal(int signal) {
  if (!status_.has_value()) kill(pid_, signal);
}

absl::optional<int> Subprocess::Wait(absl::Duration limit) {
  if (status_.has_value()) return status_;
  const auto reaped = [this] {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
    status_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    return true;
  };
  if (!Eventually(reaped, limit)) return absl::nullopt;
  // Grandchildren may hold the pipes open for longer; they are not waited for.
  Eventually(
      [this] {
        const std::lock_guard<std::mutex> lock(mutex_);
        return streams_ended_;
      },
      absl::Seconds(1));
  return status_;
}

void Subprocess::Collect() {
  pollfd polled[2] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
  char buffer[16384];
  while (!abandoned_ && (polled[0].fd >= 0 || polled[1].fd >= 0)) {
    if (poll(polled, 2, 100) < 0 && errno != EINTR) break;
    for (int i = 0; i < 2; ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      const ssize_t got = read(polled[i].fd, buffer, sizeof(buffer));
      if (got <= 0) {
        polled[i].fd = -1;
        continue;
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      (i == 0 ? stdout_ : stderr_).append(buffer, static_cast<size_t>(got));
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  streams_ended_ = true;
}

Finished RunToEnd(const Command& command, absl::Duration limit) {
  Subprocess process(command);
  Finished finished;
  finished.status = process.Wait(limit);
  finished.stdout_text = process.Stdout();
  finished.stderr_text = process.Stderr();
  return finished;
}

}  // namespace mcscope::test
