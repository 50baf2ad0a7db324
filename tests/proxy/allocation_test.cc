// In the steady state no request allocates: neither with operator new, nor in libevent, which asks
// malloc. The client and memcached's side are played by the test's own thread with plain system
// calls, so that whatever is counted is the proxy's.
#include <event2/event.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "metrics/bucket_bounds.h"
#include "metrics/recorder_reader.h"
#include "proxy/worker.h"
#include "tests/support/allocations.h"
#include "tests/support/endpoint.h"

namespace mcscope {
namespace {

std::atomic<uint64_t> libevent_allocations{0};

void* CountedMalloc(size_t size) {
  libevent_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}

void* CountedRealloc(void* memory, size_t size) {
  libevent_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::realloc(memory, size);
}

// libevent wants to be told before it allocates anything.
[[maybe_unused]] const bool counted = [] {
  event_set_mem_functions(CountedMalloc, CountedRealloc, std::free);
  return true;
}();

constexpr int kRequests = 1000;
constexpr int kWarmUp = 50;

// Blocks; false at the end of the stream or when nothing comes for a long time.
bool ReceiveAll(const test::Fd& fd, size_t size) {
  static char buffer[1 << 20];
  for (size_t got = 0; got < size;) {
    pollfd polled = {fd.get(), POLLIN, 0};
    if (poll(&polled, 1, 10'000) != 1) return false;
    const ssize_t some = recv(fd.get(), buffer, size - got, 0);
    if (some <= 0) return false;
    got += static_cast<size_t>(some);
  }
  return true;
}

bool SendAll(const test::Fd& fd, absl::string_view bytes) {
  return send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

class AllocationTest : public ::testing::Test {
 protected:
  AllocationTest() { limits_.hold_limit = 32 << 10; }

  void SetUp() override {
    const test::Fd upstream = test::ListenOn(test::Port(0));
    const test::Fd listening = test::ListenOn(test::Port(0));
    const test::Endpoint endpoint = test::Port(test::LocalPort(upstream));
    worker_ = std::make_unique<Worker>(
        std::vector<Route>{{"default", *io::Address::Parse(endpoint.ToString())->Resolve()}},
        limits_, Settings(), &bounds_);
    worker_->Start();
    client_ = test::ConnectTo(test::Port(test::LocalPort(listening)));
    worker_->Adopt(0, io::Socket(accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK)), 0);
    memcached_ = test::Fd(accept(upstream.get(), nullptr, nullptr));
  }

  // Waits until the worker has read `bytes` more from its client than it had when this was called
  // last. Reads a number, allocates nothing.
  bool WaitForRead(size_t bytes) {
    read_ += bytes;
    for (int i = 0; i < 1'000'000; ++i) {
      counts_ = {};
      metrics::RecorderReader(&worker_->recorder(0)).AddTo(&counts_);
      if (counts_.sides[0].received_bytes >= read_) return true;
      poll(nullptr, 0, i < 100 ? 0 : 1);
    }
    return false;
  }

  // Sends the pieces of a request apart, and passes `reply` back.
  bool Exchange(const std::vector<absl::string_view>& pieces, absl::string_view reply) {
    size_t size = 0;
    for (const absl::string_view piece : pieces) {
      if (!SendAll(client_, piece) || !WaitForRead(piece.size())) return false;
      size += piece.size();
    }
    return ReceiveAll(memcached_, size) && SendAll(memcached_, reply) &&
           ReceiveAll(client_, reply.size());
  }

  void ExpectNoAllocations(const std::function<bool()>& exchange) {
    ExpectAllocations(exchange, 0);
  }
  // At most that many a round.
  void ExpectAllocations(const std::function<bool()>& exchange, uint64_t most) {
    for (int i = 0; i < kWarmUp; ++i) ASSERT_TRUE(exchange());
    const uint64_t before = test::AllocationsOfAllThreads();
    const uint64_t libevent_before = libevent_allocations;
    for (int i = 0; i < kRequests; ++i) ASSERT_TRUE(exchange());
    EXPECT_LE(test::AllocationsOfAllThreads() - before, most * kRequests);
    EXPECT_EQ(libevent_allocations - libevent_before, 0u);
  }

  const metrics::BucketBounds bounds_ = metrics::BucketBounds::Default();
  SessionLimits limits_;
  std::unique_ptr<Worker> worker_;
  test::Fd client_, memcached_;
  size_t read_ = 0;
  metrics::RouteCounts<uint64_t> counts_;
};

TEST_F(AllocationTest, TheCountersSeeWhatIsAllocated) {
  const uint64_t before = test::AllocationsOfAllThreads();
  const uint64_t libevent_before = libevent_allocations;
  const io::Loop loop;
  const auto number = std::make_unique<int>(1);
  EXPECT_GT(test::AllocationsOfAllThreads(), before);
  EXPECT_GT(libevent_allocations, libevent_before);
}

TEST_F(AllocationTest, SingleRequests) {
  const std::vector<absl::string_view> request = {"get some-key\r\n"};
  ExpectNoAllocations([&] { return Exchange(request, "END\r\n"); });
}

TEST_F(AllocationTest, HitsAndSets) {
  const std::string value(10'000, 'v');
  const std::string set = "set some-key 0 0 10000\r\n" + value + "\r\n";
  const std::string hit = "VALUE some-key 0 10000\r\n" + value + "\r\nEND\r\n";
  const std::vector<absl::string_view> sets = {set}, gets = {"get some-key\r\n"};
  ExpectNoAllocations([&] { return Exchange(sets, "STORED\r\n") && Exchange(gets, hit); });
}

TEST_F(AllocationTest, PipelinesOfSixteen) {
  std::string requests, replies;
  for (int i = 0; i < 16; ++i) {
    requests += "get some-key\r\n";
    replies += "VALUE some-key 0 1\r\n1\r\nEND\r\n";
  }
  const std::vector<absl::string_view> pipeline = {requests};
  ExpectNoAllocations([&] { return Exchange(pipeline, replies); });
}

TEST_F(AllocationTest, SplitSetsThatAreHeld) {
  const std::string value(600, 'v');
  const std::vector<absl::string_view> pieces = {"set some-key 0 0 600\r\n", value, "\r\n"};
  ExpectNoAllocations([&] { return Exchange(pieces, "STORED\r\n"); });
}

TEST_F(AllocationTest, LargeSplitSetsThatAreHeld) {
  const std::string value(30'000, 'v');
  const std::vector<absl::string_view> pieces = {"set some-key 0 0 30000\r\n", value, "\r\n"};
  ExpectNoAllocations([&] { return Exchange(pieces, "STORED\r\n"); });
}

// Small enough for the kernel to take every write whole: what it does not takes memory while it
// waits.
TEST_F(AllocationTest, SetsThatAreStreamed) {
  const std::string value(40'000, 'v');
  const std::vector<absl::string_view> pieces = {"set some-key 0 0 40000\r\n", value, "\r\n"};
  ExpectNoAllocations([&] { return Exchange(pieces, "STORED\r\n"); });
}

// So that an idle session holds no memory, its framer has none for a line but while one is cut.
TEST_F(AllocationTest, ALineThatIsCutCostsItsBufferOnly) {
  const std::vector<absl::string_view> pieces = {"get some-long-", "key-with-many-letters\r\n"};
  ExpectAllocations([&] { return Exchange(pieces, "END\r\n"); }, 2);
}

TEST_F(AllocationTest, NoreplyAndMetaRequests) {
  const std::vector<absl::string_view> pieces = {
      "set k 0 0 1 noreply\r\n1\r\nmg a v q O1\r\nmg b v q O2\r\nmn\r\n"};
  ExpectNoAllocations([&] { return Exchange(pieces, "VA 1 O2\r\n1\r\nMN\r\n"); });
}

}  // namespace
}  // namespace mcscope
