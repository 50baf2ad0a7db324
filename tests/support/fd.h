// Owner of one file descriptor.
#ifndef MCSCOPE_TESTS_SUPPORT_FD_H_
#define MCSCOPE_TESTS_SUPPORT_FD_H_

#include <unistd.h>

#include <utility>

namespace mcscope::test {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { Close(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace mcscope::test

#endif  // MCSCOPE_TESTS_SUPPORT_FD_H_
