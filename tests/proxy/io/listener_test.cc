#include "proxy/io/listener.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/proxy/io/no_descriptors_left.h"
#include "tests/proxy/io/turn.h"
#include "tests/support/endpoint.h"
#include "tests/support/temp_dir.h"

namespace mcscope::io {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class ListenerTest : public ::testing::Test {
 protected:
  void ListenAt(const std::string& address) {
    absl::StatusOr<Socket> socket = Socket::Listen(*Address::Parse(address)->Resolve());
    ASSERT_TRUE(socket.ok()) << socket.status();
    listener_ = std::make_unique<Listener>(
        &loop_, *std::move(socket),
        [this](Socket client) { accepted_.push_back(std::move(client)); },
        [this] { return accepted_.size() < room_; },
        [this](int error) { pauses_.push_back(error); });
  }
  test::Endpoint Endpoint() const {
    const std::string address = listener_->address().ToString();
    return test::Port(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  }
  bool WaitForClients(size_t count) {
    return TurnUntil(&loop_, [&] { return accepted_.size() >= count; });
  }
  // Turns as a running loop would, blocking, until accepting has paused `count` times; how many
  // turns that took.
  int TurnsUntilPauses(size_t count) {
    int turns = 0;
    while (pauses_.size() < count && turns < 1000) {
      event_base_loop(loop_.base(), EVLOOP_ONCE);
      ++turns;
    }
    return turns;
  }

  Loop loop_;
  size_t room_ = SIZE_MAX;
  std::vector<Socket> accepted_;
  std::vector<int> pauses_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(ListenerTest, HandsOnEveryClientWithoutBlocking) {
  ListenAt("127.0.0.1:0");
  std::vector<test::Fd> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(test::ConnectTo(Endpoint()));  // several turns'
  ASSERT_TRUE(WaitForClients(200));
  for (const Socket& client : accepted_) {
    EXPECT_NE(fcntl(client.fd(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(fcntl(client.fd(), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(listener_->pauses(), 0u);
}

TEST_F(ListenerTest, ABurstDoesNotStarveTheLoop) {
  ListenAt("127.0.0.1:0");
  std::vector<test::Fd> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(test::ConnectTo(Endpoint()));
  size_t accepted_before_task = 0;
  Turn(&loop_);
  loop_.Post([&] { accepted_before_task = accepted_.size(); });
  ASSERT_TRUE(WaitForClients(200));
  EXPECT_LT(accepted_before_task, 200u);
}

TEST_F(ListenerTest, AClosedGateLeavesClientsInTheBacklog) {
  ListenAt("127.0.0.1:0");
  room_ = 1;
  const test::Fd first = test::ConnectTo(Endpoint());
  const test::Fd second = test::ConnectTo(Endpoint());
  ASSERT_TRUE(second.valid());  // the kernel has it
  ASSERT_TRUE(TurnUntil(&loop_, [&] { return !pauses_.empty(); }));
  EXPECT_EQ(accepted_.size(), 1u);
  EXPECT_EQ(listener_->pauses(), 1u);
  room_ = 2;
  EXPECT_TRUE(WaitForClients(2));  // after the pause
}

TEST_F(ListenerTest, AGateThatStaysClosedIsAskedNowAndThen) {
  ListenAt("127.0.0.1:0");
  room_ = 0;
  const test::Fd client = test::ConnectTo(Endpoint());
  EXPECT_LE(TurnsUntilPauses(3), 8);
  EXPECT_THAT(pauses_, ElementsAre(EMFILE, EMFILE, EMFILE));
  EXPECT_EQ(listener_->pauses(), 3u);
}

TEST_F(ListenerTest, WithoutDescriptorsItPausesAndResumesAndNeverSpins) {
  ListenAt("127.0.0.1:0");
  const test::Fd client = test::ConnectTo(Endpoint());
  ASSERT_TRUE(client.valid());
  {
    const NoDescriptorsLeft none;
    EXPECT_LE(TurnsUntilPauses(3), 8);
    EXPECT_TRUE(accepted_.empty());
  }
  EXPECT_THAT(pauses_, Each(EMFILE));
  ASSERT_TRUE(WaitForClients(1));
  EXPECT_EQ(send(accepted_[0].fd(), "x", 1, MSG_NOSIGNAL), 1);
  char byte;
  EXPECT_EQ(recv(client.get(), &byte, 1, 0), 1);
}

TEST_F(ListenerTest, AClientThatWentAwayInTheBacklogIsNoPause) {
  ListenAt("127.0.0.1:0");
  for (int i = 0; i < 10; ++i) {
    const test::Fd gone = test::ConnectTo(Endpoint());
    const linger now = {1, 0};
    setsockopt(gone.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  }
  const test::Fd client = test::ConnectTo(Endpoint());
  const auto answered = [&] {
    for (const Socket& accepted : accepted_) send(accepted.fd(), "x", 1, MSG_NOSIGNAL);
    char byte;
    return recv(client.get(), &byte, 1, MSG_DONTWAIT) == 1;
  };
  EXPECT_TRUE(TurnUntil(&loop_, answered));
  EXPECT_EQ(listener_->pauses(), 0u);
}

TEST_F(ListenerTest, AfterStopAcceptingNewClientsAreRefused) {
  ListenAt("127.0.0.1:0");
  const test::Endpoint endpoint = Endpoint();
  const test::Fd before = test::ConnectTo(endpoint);
  ASSERT_TRUE(WaitForClients(1));
  listener_->StopAccepting();
  EXPECT_FALSE(test::ConnectTo(endpoint).valid());
  EXPECT_EQ(errno, ECONNREFUSED);
  EXPECT_EQ(send(accepted_[0].fd(), "x", 1, MSG_NOSIGNAL), 1);  // those before are not its concern
  listener_->StopAccepting();                                   // twice does no harm
}

TEST_F(ListenerTest, APauseDoesNotOutliveStopAccepting) {
  ListenAt("127.0.0.1:0");
  room_ = 0;
  const test::Fd client = test::ConnectTo(Endpoint());
  ASSERT_TRUE(TurnUntil(&loop_, [&] { return !pauses_.empty(); }));
  listener_->StopAccepting();
  room_ = 1;
  bool over = false;
  Timer timer(&loop_, [&] { over = true; });
  timer.Start(absl::Milliseconds(150));  // longer than the pause
  ASSERT_TRUE(TurnUntil(&loop_, [&] { return over; }));
  EXPECT_TRUE(accepted_.empty());
  EXPECT_EQ(pauses_.size(), 1u);
}

TEST_F(ListenerTest, AUnixSocketsFileGoesWithIt) {
  const test::TempDir directory;
  const std::string path = directory.File("socket");
  ListenAt("unix:" + path);
  EXPECT_EQ(listener_->address().ToString(), "unix:" + path);
  const test::Fd client = test::ConnectTo(test::UnixPath(path));
  ASSERT_TRUE(WaitForClients(1));
  listener_.reset();
  struct stat info;
  EXPECT_NE(stat(path.c_str(), &info), 0);
}

TEST_F(ListenerTest, ItsAddressIsKnownAfterItHasStopped) {
  ListenAt("127.0.0.1:0");
  const std::string address = listener_->address().ToString();
  listener_->StopAccepting();
  EXPECT_EQ(listener_->address().ToString(), address);
}

}  // namespace
}  // namespace mcscope::io
