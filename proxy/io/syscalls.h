// The system calls of the data path, straight. The C library's own wrappers are cancellation
// points: in a process with threads each costs two atomic exchanges more, which is about 1 % of a
// small request (perf, sampled by cpu-clock). Nobody cancels threads here.
//
// As the wrappers do, each returns -1 and sets errno on failure.
#ifndef MCSCOPE_PROXY_IO_SYSCALLS_H_
#define MCSCOPE_PROXY_IO_SYSCALLS_H_

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

namespace mcscope::io {

inline ssize_t Receive(int fd, void* buffer, size_t size) {
  return syscall(SYS_recvfrom, fd, buffer, size, 0, nullptr, nullptr);
}

// A peer that went away is EPIPE, not a signal.
inline ssize_t Send(int fd, const void* bytes, size_t size) {
  return syscall(SYS_sendto, fd, bytes, size, MSG_NOSIGNAL, nullptr, 0);
}

inline ssize_t SendMessage(int fd, const msghdr& message) {
  return syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL);
}

}  // namespace mcscope::io

#endif  // MCSCOPE_PROXY_IO_SYSCALLS_H_
