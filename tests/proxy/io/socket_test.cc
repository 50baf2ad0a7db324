#include "proxy/io/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace mcscope::io {
namespace {

SocketAddress At(const std::string& text) { return *Address::Parse(text)->Resolve(); }

int IntOption(const Socket& socket, int level, int name) {
  int value = -1;
  socklen_t length = sizeof(value);
  getsockopt(socket.fd(), level, name, &value, &length);
  return value;
}

// A client of `server`, connected as far as the kernel is concerned.
Socket ConnectedTo(const Socket& server) {
  const SocketAddress address = server.LocalAddress();
  Socket client = Socket::Open(address);
  const int started = client.Connect(address);
  EXPECT_TRUE(started == 0 || started == EINPROGRESS) << started;
  return client;
}

Socket Accept(const Socket& server) {
  int fd = -1;
  test::Eventually([&] { return (fd = accept(server.fd(), nullptr, nullptr)) >= 0; });
  return Socket(fd);
}

bool FileExists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

TEST(SocketTest, PortZeroBecomesTheOneTheKernelPicked) {
  const absl::StatusOr<Socket> server = Socket::Listen(At("127.0.0.1:0"));
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string address = server->LocalAddress().ToString();
  EXPECT_EQ(address.rfind("127.0.0.1:", 0), 0u) << address;
  EXPECT_NE(address, "127.0.0.1:0");
  ConnectedTo(*server);
  EXPECT_TRUE(Accept(*server).valid());
}

TEST(SocketTest, ATakenPortIsSaidInTheKernelsWords) {
  const absl::StatusOr<Socket> first = Socket::Listen(At("127.0.0.1:0"));
  ASSERT_TRUE(first.ok());
  const absl::StatusOr<Socket> second = Socket::Listen(first->LocalAddress());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(second.status().message(), "Address already in use");
}

TEST(SocketTest, AnAddressOfAnotherMachineIsSaidInTheKernelsWords) {
  const absl::StatusOr<Socket> server = Socket::Listen(At("192.0.2.1:0"));  // for documentation
  EXPECT_EQ(server.status().message(), "Cannot assign requested address");
}

TEST(SocketTest, SocketsNeitherBlockNorReachChildren) {
  const Socket socket = Socket::Open(At("127.0.0.1:0"));
  ASSERT_TRUE(socket.valid());
  EXPECT_NE(fcntl(socket.fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(socket.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(SocketTest, APortIsFreeAgainRightAfterItsConnections) {
  absl::StatusOr<Socket> server = Socket::Listen(At("127.0.0.1:0"));
  ASSERT_TRUE(server.ok());
  const SocketAddress address = server->LocalAddress();
  {
    const Socket client = ConnectedTo(*server);
    Socket accepted = Accept(*server);
    accepted.Close();  // the listening side closes first: its end lingers in TIME_WAIT
  }
  server->Close();
  EXPECT_TRUE(Socket::Listen(address).ok());
}

TEST(SocketTest, AUnixSocketListens) {
  const test::TempDir directory;
  const std::string path = directory.File("socket");
  const absl::StatusOr<Socket> server = Socket::Listen(At("unix:" + path));
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(server->LocalAddress().ToString(), "unix:" + path);
  ConnectedTo(*server);
  EXPECT_TRUE(Accept(*server).valid());
}

TEST(SocketTest, TheSocketFileOfADeadProcessIsReplaced) {
  const test::TempDir directory;
  const SocketAddress address = At("unix:" + directory.File("socket"));
  absl::StatusOr<Socket> dead = Socket::Listen(address);
  ASSERT_TRUE(dead.ok());
  dead->Close();
  ASSERT_TRUE(FileExists(directory.File("socket")));
  const absl::StatusOr<Socket> alive = Socket::Listen(address);
  ASSERT_TRUE(alive.ok()) << alive.status();
  ConnectedTo(*alive);
  EXPECT_TRUE(Accept(*alive).valid());
}

TEST(SocketTest, TheSocketFileOfALiveProcessIsNot) {
  const test::TempDir directory;
  const SocketAddress address = At("unix:" + directory.File("socket"));
  const absl::StatusOr<Socket> first = Socket::Listen(address);
  ASSERT_TRUE(first.ok());
  const absl::StatusOr<Socket> second = Socket::Listen(address);
  EXPECT_EQ(second.status().message(), "Address already in use");
  ConnectedTo(*first);
  EXPECT_TRUE(Accept(*first).valid());
}

TEST(SocketTest, AFileThatIsNoSocketIsLeftAlone) {
  const test::TempDir directory;
  const std::string path = directory.File("precious");
  test::WriteFile(path, "data");
  const absl::StatusOr<Socket> server = Socket::Listen(At("unix:" + path));
  EXPECT_EQ(server.status().message(), "Address already in use");
  EXPECT_EQ(test::ReadFile(path), "data");
}

TEST(SocketTest, AUnixPathWithoutItsFolderIsSaidInTheKernelsWords) {
  const test::TempDir directory;
  const absl::StatusOr<Socket> server =
      Socket::Listen(At("unix:" + directory.File("no/such/folder")));
  EXPECT_EQ(server.status().message(), "No such file or directory");
}

TEST(SocketTest, NoDelayIsSetAndTakenBack) {
  Socket socket = Socket::Open(At("127.0.0.1:0"));
  EXPECT_TRUE(socket.SetNoDelay(true));
  EXPECT_EQ(IntOption(socket, IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_TRUE(socket.SetNoDelay(false));
  EXPECT_EQ(IntOption(socket, IPPROTO_TCP, TCP_NODELAY), 0);
}

TEST(SocketTest, AUnixSocketHasNothingToDelayAndNoAcksToHurry) {
  Socket socket = Socket::Open(At("unix:/run/socket"));
  EXPECT_TRUE(socket.SetNoDelay(true));
  EXPECT_TRUE(socket.SetNoDelay(false));
  EXPECT_FALSE(socket.SetQuickAck(true));
}

TEST(SocketTest, NoDelayFailsOnAClosedSocket) {
  Socket socket;
  EXPECT_FALSE(socket.SetNoDelay(true));
}

TEST(SocketTest, QuickAckIsSetAndTakenBackOnAConnection) {
  const absl::StatusOr<Socket> server = Socket::Listen(At("127.0.0.1:0"));
  const Socket client = ConnectedTo(*server);
  Socket accepted = Accept(*server);
  EXPECT_TRUE(accepted.SetQuickAck(true));
  EXPECT_EQ(IntOption(accepted, IPPROTO_TCP, TCP_QUICKACK), 1);
  EXPECT_TRUE(accepted.SetQuickAck(false));
  EXPECT_EQ(IntOption(accepted, IPPROTO_TCP, TCP_QUICKACK), 0);
}

TEST(SocketTest, KeepAliveIsSet) {
  Socket socket = Socket::Open(At("127.0.0.1:0"));
  socket.SetKeepAlive();
  EXPECT_EQ(IntOption(socket, SOL_SOCKET, SO_KEEPALIVE), 1);
}

TEST(SocketTest, ARefusedConnectLeavesItsErrorOnce) {
  absl::StatusOr<Socket> server = Socket::Listen(At("127.0.0.1:0"));
  const SocketAddress address = server->LocalAddress();
  server->Close();
  Socket client = Socket::Open(address);
  const int started = client.Connect(address);
  ASSERT_TRUE(started == EINPROGRESS || started == ECONNREFUSED);
  if (started == EINPROGRESS) {
    EXPECT_EQ(client.TakeError(), ECONNREFUSED);
  }
  EXPECT_EQ(client.TakeError(), 0);
}

TEST(SocketTest, AMovedFromSocketHoldsNothing) {
  Socket first = Socket::Open(At("127.0.0.1:0"));
  const int fd = first.fd();
  Socket second = std::move(first);
  EXPECT_EQ(second.fd(), fd);
  first = Socket::Open(At("127.0.0.1:0"));
  first = std::move(second);
  EXPECT_EQ(first.fd(), fd);
  EXPECT_FALSE(second.valid());
}

TEST(SocketTest, TheDescriptorIsClosedUnlessItWasGivenAway) {
  int fd;
  {
    const Socket socket = Socket::Open(At("127.0.0.1:0"));
    fd = socket.fd();
  }
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  Socket socket = Socket::Open(At("127.0.0.1:0"));
  const Socket taken(socket.Release());
  EXPECT_FALSE(socket.valid());
  EXPECT_GE(fcntl(taken.fd(), F_GETFD), 0);
}

TEST(SocketTest, AShutDownWriterStillReads) {
  const absl::StatusOr<Socket> server = Socket::Listen(At("127.0.0.1:0"));
  Socket client = ConnectedTo(*server);
  const Socket accepted = Accept(*server);
  client.ShutdownWrite();
  char byte;
  EXPECT_TRUE(test::Eventually([&] { return recv(accepted.fd(), &byte, 1, MSG_DONTWAIT) == 0; }));
  ASSERT_EQ(send(accepted.fd(), "x", 1, MSG_NOSIGNAL), 1);
  EXPECT_TRUE(test::Eventually([&] { return recv(client.fd(), &byte, 1, MSG_DONTWAIT) == 1; }));
}

TEST(SocketTest, AResetIsWhatThePeerSees) {
  const absl::StatusOr<Socket> server = Socket::Listen(At("127.0.0.1:0"));
  Socket client = ConnectedTo(*server);
  const Socket accepted = Accept(*server);
  client.ResetOnClose();
  client.Close();
  char byte;
  int error = 0;
  test::Eventually([&] {
    if (recv(accepted.fd(), &byte, 1, MSG_DONTWAIT) < 0 && errno != EAGAIN) error = errno;
    return error != 0;
  });
  EXPECT_EQ(error, ECONNRESET);
}

}  // namespace
}  // namespace mcscope::io
