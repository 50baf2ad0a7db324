// Out of file descriptors, for as long as it lives.
#ifndef MCSCOPE_TESTS_PROXY_IO_NO_DESCRIPTORS_LEFT_H_
#define MCSCOPE_TESTS_PROXY_IO_NO_DESCRIPTORS_LEFT_H_

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace mcscope::io {

// Those that are open stay so.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(lowest_free);
    const rlimit none = {static_cast<rlim_t>(lowest_free), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptorsLeft() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

 private:
  rlimit before_;
};

}  // namespace mcscope::io

#endif  // MCSCOPE_TESTS_PROXY_IO_NO_DESCRIPTORS_LEFT_H_
