#include "proxy/io/stream.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/proxy/io/turn.h"
#include "tests/support/endpoint.h"
#include "tests/support/fd.h"

namespace mcscope::io {
namespace {

using test::Fd;
using ::testing::ElementsAre;

// The peers of these tests are plain blocking sockets on the test's thread, read without waiting.
std::string ReadNow(const Fd& fd) {
  std::string all;
  char buffer[65536];
  for (ssize_t got; (got = recv(fd.get(), buffer, sizeof(buffer), MSG_DONTWAIT)) > 0;) {
    all.append(buffer, static_cast<size_t>(got));
  }
  return all;
}

enum class End { kOpen, kEof, kReset };

End EndOf(const Fd& fd) {
  char byte;
  const ssize_t got = recv(fd.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  if (got == 0) return End::kEof;
  return got < 0 && errno == ECONNRESET ? End::kReset : End::kOpen;
}

constexpr int kSmallBuffer = 64 << 10;

// So long that a pair of small socket buffers takes a part only, and different at each place.
std::string LongText() {
  std::string text;
  for (int i = 0; text.size() < (1 << 20); ++i) text += std::to_string(i) + ' ';
  return text;
}

void LimitBuffer(int fd, int name) {
  setsockopt(fd, SOL_SOCKET, name, &kSmallBuffer, sizeof(kSmallBuffer));
}

struct Flush {
  size_t bytes;
  int error;
};

class StreamTest : public ::testing::Test, public StreamHandler {
 protected:
  void OnReadable() override {
    ++readable_;
    if (on_readable_) on_readable_();
  }
  void OnFlushed(size_t bytes, int error) override { flushes_.push_back({bytes, error}); }
  void OnConnected(int error) override {
    connects_.push_back(error);
    if (on_connected_) on_connected_();
  }

  // A stream and its peer, connected to each other.
  void MakePair() {
    const Fd listening = test::ListenOn(test::Port(0));
    LimitBuffer(listening.get(), SO_RCVBUF);
    Socket socket(ConnectNonBlocking(listening));
    LimitBuffer(socket.fd(), SO_SNDBUF);
    peer_ = Fd(accept(listening.get(), nullptr, nullptr));
    ASSERT_TRUE(peer_.valid());
    stream_ = std::make_unique<Stream>(&loop_, std::move(socket), this);
  }
  static int ConnectNonBlocking(const Fd& listening) {
    const SocketAddress address = AddressOf(listening);
    Socket socket = Socket::Open(address);
    socket.Connect(address);
    return socket.Release();
  }
  static SocketAddress AddressOf(const Fd& socket) {
    return *Address::Parse(test::Port(test::LocalPort(socket)).ToString())->Resolve();
  }
  // Connects a new stream to `listening` and waits until that has ended.
  void ConnectTo(const SocketAddress& address, absl::Duration timeout = test::kPatience) {
    stream_ = std::make_unique<Stream>(&loop_, this);
    ASSERT_EQ(stream_->Connect(address, timeout), 0);
  }
  bool WaitForConnect() {
    return TurnUntil(&loop_, [&] { return !connects_.empty(); });
  }
  // Reads at the peer, turn by turn, until `count` bytes have come.
  std::string ReadAtPeer(size_t count) {
    std::string all;
    TurnUntil(&loop_, [&] {
      all += ReadNow(peer_);
      return all.size() >= count;
    });
    return all;
  }
  size_t FlushedBytes() const {
    size_t sum = 0;
    for (const Flush& flush : flushes_) sum += flush.bytes;
    return sum;
  }

  Loop loop_;
  Fd peer_;
  int readable_ = 0;
  std::function<void()> on_readable_, on_connected_;
  std::vector<int> connects_;
  std::vector<Flush> flushes_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(StreamTest, ConnectsInALaterTurn) {
  const Fd listening = test::ListenOn(test::Port(0));
  ConnectTo(AddressOf(listening));
  EXPECT_TRUE(connects_.empty());
  ASSERT_TRUE(WaitForConnect());
  EXPECT_THAT(connects_, ElementsAre(0));
  EXPECT_TRUE(stream_->open());
}

TEST_F(StreamTest, SaysThatAConnectWasRefused) {
  Fd listening = test::ListenOn(test::Port(0));
  const SocketAddress address = AddressOf(listening);
  listening.Close();
  ConnectTo(address);
  ASSERT_TRUE(WaitForConnect());
  EXPECT_THAT(connects_, ElementsAre(ECONNREFUSED));
}

TEST_F(StreamTest, AnImmediateFailureIsReturnedAndNotCalledBack) {
  Stream stream(&loop_, this);
  const SocketAddress nowhere = *Address::Parse("unix:/no/such/socket")->Resolve();
  EXPECT_EQ(stream.Connect(nowhere, test::kPatience), ENOENT);
  EXPECT_FALSE(stream.open());
  Turn(&loop_);
  EXPECT_TRUE(connects_.empty());
}

TEST_F(StreamTest, AConnectThatNobodyAnswersRunsOutOfTime) {
  const Fd listening = test::ListenOn(test::Port(0), /*backlog=*/0);
  const Fd filler = test::ConnectTo(test::Port(test::LocalPort(listening)));
  const absl::Time started = absl::Now();
  ConnectTo(AddressOf(listening), absl::Milliseconds(100));
  ASSERT_TRUE(WaitForConnect());
  EXPECT_THAT(connects_, ElementsAre(ETIMEDOUT));
  EXPECT_GE(absl::Now() - started, absl::Milliseconds(90));
  EXPECT_LT(absl::Now() - started, absl::Seconds(3));
}

TEST_F(StreamTest, TheTimeToConnectDoesNotEndAConnectedStream) {
  const Fd listening = test::ListenOn(test::Port(0));
  ConnectTo(AddressOf(listening), absl::Milliseconds(100));
  ASSERT_TRUE(WaitForConnect());
  bool over = false;
  Timer timer(&loop_, [&] { over = true; });
  timer.Start(absl::Milliseconds(130));
  ASSERT_TRUE(TurnUntil(&loop_, [&] { return over; }));
  EXPECT_THAT(connects_, ElementsAre(0));
  EXPECT_TRUE(stream_->open());
}

TEST_F(StreamTest, AConnectThatSucceededCountsHoweverLateTheLoopSeesIt) {
  const Fd listening = test::ListenOn(test::Port(0));
  ConnectTo(AddressOf(listening), absl::Milliseconds(1));
  peer_ = Fd(accept(listening.get(), nullptr, nullptr));
  absl::SleepFor(absl::Milliseconds(10));  // the loop is busy elsewhere
  ASSERT_TRUE(WaitForConnect());
  EXPECT_THAT(connects_, ElementsAre(0));
}

TEST_F(StreamTest, WhatIsWrittenWhileConnectingFollowsInOrder) {
  const Fd listening = test::ListenOn(test::Port(0));
  ConnectTo(AddressOf(listening));
  const IoResult first = stream_->Write("one ", "two ");
  EXPECT_EQ(first.bytes, 0u);
  EXPECT_EQ(first.error, 0);
  stream_->Write("three ");
  EXPECT_EQ(stream_->pending(), 14u);
  EXPECT_EQ(stream_->handed(), 0u);
  EXPECT_EQ(stream_->accepted(), 14u);
  ASSERT_TRUE(WaitForConnect());
  peer_ = Fd(accept(listening.get(), nullptr, nullptr));
  EXPECT_EQ(ReadAtPeer(14), "one two three ");
  EXPECT_EQ(stream_->pending(), 0u);
  EXPECT_EQ(stream_->handed(), 14u);
  EXPECT_EQ(FlushedBytes(), 14u);
}

TEST_F(StreamTest, WhatIsWrittenOnConnectingComesBehindWhatWaited) {
  const Fd listening = test::ListenOn(test::Port(0));
  ConnectTo(AddressOf(listening));
  stream_->Write("one ");
  on_connected_ = [&] { stream_->Write("two"); };
  ASSERT_TRUE(WaitForConnect());
  peer_ = Fd(accept(listening.get(), nullptr, nullptr));
  EXPECT_EQ(ReadAtPeer(7), "one two");
}

TEST_F(StreamTest, AnEndGivenWhileConnectingFollowsWhatWaited) {
  const Fd listening = test::ListenOn(test::Port(0));
  ConnectTo(AddressOf(listening));
  stream_->Write("last words");
  stream_->FinishWrites();
  ASSERT_TRUE(WaitForConnect());
  peer_ = Fd(accept(listening.get(), nullptr, nullptr));
  EXPECT_EQ(ReadAtPeer(10), "last words");
  EXPECT_TRUE(TurnUntil(&loop_, [&] { return EndOf(peer_) == End::kEof; }));
}

TEST_F(StreamTest, AnEndGivenWhileConnectingComesWithoutAnyWrite) {
  const Fd listening = test::ListenOn(test::Port(0));
  ConnectTo(AddressOf(listening));
  stream_->FinishWrites();
  ASSERT_TRUE(WaitForConnect());
  peer_ = Fd(accept(listening.get(), nullptr, nullptr));
  EXPECT_TRUE(TurnUntil(&loop_, [&] { return EndOf(peer_) == End::kEof; }));
}

TEST_F(StreamTest, ItsHandlerMayCloseItWhenAConnectFails) {
  Fd listening = test::ListenOn(test::Port(0));
  const SocketAddress address = AddressOf(listening);
  listening.Close();
  ConnectTo(address);
  stream_->Write("in vain");
  on_connected_ = [&] { stream_->Close(/*reset=*/false); };
  ASSERT_TRUE(WaitForConnect());
  EXPECT_FALSE(stream_->open());
  EXPECT_EQ(stream_->pending(), 0u);
}

TEST_F(StreamTest, ItsHandlerMayCloseItWhenAConnectSucceeds) {
  const Fd listening = test::ListenOn(test::Port(0));
  ConnectTo(AddressOf(listening));
  stream_->Write("unsaid");
  on_connected_ = [&] { stream_->Close(/*reset=*/false); };
  ASSERT_TRUE(WaitForConnect());
  EXPECT_FALSE(stream_->open());
  EXPECT_TRUE(flushes_.empty());
}

TEST_F(StreamTest, BothPiecesOfAWriteLeaveTogether) {
  MakePair();
  const IoResult result = stream_->Write("head ", "tail");
  EXPECT_EQ(result.bytes, 9u);
  EXPECT_EQ(result.error, 0);
  char buffer[64];
  ASSERT_EQ(recv(peer_.get(), buffer, sizeof(buffer), 0), 9);  // one segment
  EXPECT_EQ(std::string(buffer, 9), "head tail");
  EXPECT_TRUE(flushes_.empty());  // nothing ever waited
}

TEST_F(StreamTest, EitherPieceMayBeEmpty) {
  MakePair();
  EXPECT_EQ(stream_->Write("", "tail ").bytes, 5u);
  EXPECT_EQ(stream_->Write("head", "").bytes, 4u);
  EXPECT_EQ(ReadAtPeer(9), "tail head");
  EXPECT_EQ(stream_->handed(), 9u);
}

TEST_F(StreamTest, ASlowReaderGetsEverythingInOrder) {
  MakePair();
  const std::string head = LongText(), tail = LongText();
  const IoResult result = stream_->Write(head, tail);
  ASSERT_EQ(result.error, 0);
  ASSERT_LT(result.bytes, head.size());
  EXPECT_EQ(stream_->handed(), result.bytes);
  EXPECT_EQ(stream_->accepted(), head.size() + tail.size());
  EXPECT_EQ(stream_->pending(), head.size() + tail.size() - result.bytes);

  const IoResult queued = stream_->Write("end");
  EXPECT_EQ(queued.bytes, 0u);
  EXPECT_EQ(queued.error, 0);
  const size_t all = head.size() + tail.size() + 3;
  EXPECT_EQ(stream_->accepted(), all);
  EXPECT_TRUE(ReadAtPeer(all) == head + tail + "end");
  EXPECT_EQ(stream_->handed(), all);
  EXPECT_EQ(stream_->accepted(), all);
  EXPECT_EQ(stream_->pending(), 0u);
  EXPECT_EQ(FlushedBytes(), all - result.bytes);
}

TEST_F(StreamTest, AWriteCanEndInTheSecondPiece) {
  MakePair();
  const std::string tail = LongText();
  const IoResult result = stream_->Write("head", tail);
  ASSERT_GT(result.bytes, 4u);
  ASSERT_LT(result.bytes, tail.size());
  EXPECT_TRUE(ReadAtPeer(4 + tail.size()) == "head" + tail);
}

TEST_F(StreamTest, HandedNeverPassesAcceptedWhileItFlushes) {
  MakePair();
  const std::string text = LongText();
  stream_->Write(text);
  uint64_t last = stream_->handed();
  std::string all;
  ASSERT_TRUE(TurnUntil(&loop_, [&] {
    EXPECT_GE(stream_->handed(), last);
    EXPECT_EQ(stream_->handed() + stream_->pending(), text.size());
    EXPECT_EQ(stream_->accepted(), text.size());
    last = stream_->handed();
    all += ReadNow(peer_);
    return all.size() >= text.size();
  }));
}

TEST_F(StreamTest, AnIdleStreamIsNotCalledBackForWrites) {
  MakePair();
  const std::string text = LongText();
  stream_->Write(text);
  ReadAtPeer(text.size());
  const size_t flushes = flushes_.size();
  for (int i = 0; i < 10; ++i) Turn(&loop_);
  EXPECT_EQ(flushes_.size(), flushes);
}

TEST_F(StreamTest, TheEndComesBehindWhatIsPending) {
  MakePair();
  const std::string text = LongText();
  stream_->Write(text);
  ASSERT_GT(stream_->pending(), 0u);
  stream_->FinishWrites();
  EXPECT_TRUE(ReadAtPeer(text.size()) == text);
  EXPECT_TRUE(TurnUntil(&loop_, [&] { return EndOf(peer_) == End::kEof; }));
  // The other direction goes on.
  ASSERT_EQ(send(peer_.get(), "reply", 5, MSG_NOSIGNAL), 5);
  char buffer[16];
  IoResult got;
  TurnUntil(&loop_, [&] { return (got = stream_->Recv(buffer, sizeof(buffer))).bytes > 0; });
  EXPECT_EQ(std::string(buffer, got.bytes), "reply");
}

TEST_F(StreamTest, ReadsAreWatchedOnlyWhenWanted) {
  MakePair();
  ASSERT_EQ(send(peer_.get(), "x", 1, MSG_NOSIGNAL), 1);
  Turn(&loop_);
  EXPECT_EQ(readable_, 0);
  EXPECT_TRUE(stream_->WatchReads(true));
  EXPECT_FALSE(stream_->WatchReads(true));  // no change
  ASSERT_TRUE(TurnUntil(&loop_, [&] { return readable_ > 0; }));
  EXPECT_FALSE(stream_->WatchReads(false));
  const int before = readable_;
  Turn(&loop_);
  EXPECT_EQ(readable_, before);
  EXPECT_TRUE(stream_->WatchReads(true));  // and what was there is still told of
  EXPECT_TRUE(TurnUntil(&loop_, [&] { return readable_ > before; }));
}

TEST_F(StreamTest, ReadsCanBeUnwatchedFromTheirCallback) {
  MakePair();
  on_readable_ = [&] { stream_->WatchReads(false); };
  stream_->WatchReads(true);
  ASSERT_EQ(send(peer_.get(), "x", 1, MSG_NOSIGNAL), 1);
  ASSERT_TRUE(TurnUntil(&loop_, [&] { return readable_ > 0; }));
  for (int i = 0; i < 5; ++i) Turn(&loop_);
  EXPECT_EQ(readable_, 1);
}

TEST_F(StreamTest, ReceivesWhatIsThereThenNothingThenTheEnd) {
  MakePair();
  char buffer[4];
  EXPECT_EQ(stream_->Recv(buffer, sizeof(buffer)).error, EAGAIN);
  ASSERT_EQ(send(peer_.get(), "abcdef", 6, MSG_NOSIGNAL), 6);
  IoResult got;
  test::Eventually([&] { return (got = stream_->Recv(buffer, sizeof(buffer))).bytes > 0; });
  EXPECT_EQ(std::string(buffer, got.bytes), "abcd");
  got = stream_->Recv(buffer, sizeof(buffer));
  EXPECT_EQ(std::string(buffer, got.bytes), "ef");
  shutdown(peer_.get(), SHUT_WR);
  test::Eventually([&] { return (got = stream_->Recv(buffer, sizeof(buffer))).error == 0; });
  EXPECT_EQ(got.bytes, 0u);
  EXPECT_EQ(got.error, 0);
}

TEST_F(StreamTest, AnOrderlyCloseIsAnEndOfStream) {
  MakePair();
  stream_->Close(/*reset=*/false);
  EXPECT_FALSE(stream_->open());
  EXPECT_TRUE(test::Eventually([&] { return EndOf(peer_) == End::kEof; }));
}

TEST_F(StreamTest, AResettingCloseIsAReset) {
  MakePair();
  stream_->Close(/*reset=*/true);
  EXPECT_TRUE(test::Eventually([&] { return EndOf(peer_) == End::kReset; }));
}

TEST_F(StreamTest, NoCallbackFollowsAClose) {
  MakePair();
  stream_->WatchReads(true);
  ASSERT_EQ(send(peer_.get(), "x", 1, MSG_NOSIGNAL), 1);
  const std::string text = LongText();
  stream_->Write(text);
  stream_->Close(/*reset=*/false);
  for (int i = 0; i < 5; ++i) Turn(&loop_);
  EXPECT_EQ(readable_, 0);
  EXPECT_TRUE(flushes_.empty());
  EXPECT_EQ(stream_->pending(), 0u);
  EXPECT_FALSE(stream_->WatchReads(true));
  stream_->Close(/*reset=*/true);  // twice does no harm
}

TEST_F(StreamTest, WritingToAPeerThatIsGoneIsAnErrorAndNoSignal) {
  MakePair();
  const linger now = {1, 0};
  setsockopt(peer_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  peer_.Close();
  const IoResult result = stream_->Write("anyone?");
  EXPECT_TRUE(result.error == EPIPE || result.error == ECONNRESET) << result.error;
  EXPECT_EQ(result.bytes, 0u);
  EXPECT_EQ(stream_->handed(), 0u);
}

TEST_F(StreamTest, WhatWasPendingIsLostWhenThePeerGoes) {
  MakePair();
  const std::string text = LongText();
  stream_->Write(text);
  ASSERT_GT(stream_->pending(), 0u);
  const linger now = {1, 0};
  setsockopt(peer_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  peer_.Close();
  ASSERT_TRUE(TurnUntil(&loop_, [&] { return !flushes_.empty() && flushes_.back().error != 0; }));
  EXPECT_EQ(flushes_.back().bytes, 0u);
  EXPECT_EQ(stream_->pending(), 0u);
  for (int i = 0; i < 5; ++i) Turn(&loop_);
  EXPECT_NE(flushes_.back().error, 0);  // said once: nothing follows
}

TEST_F(StreamTest, AnUnixSocketStreamsToo) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  peer_ = Fd(fds[1]);
  stream_ = std::make_unique<Stream>(&loop_, Socket(fds[0]), this);
  EXPECT_EQ(stream_->Write("head ", "tail").bytes, 9u);
  EXPECT_EQ(ReadAtPeer(9), "head tail");
  EXPECT_TRUE(stream_->socket().SetNoDelay(true));
}

}  // namespace
}  // namespace mcscope::io
