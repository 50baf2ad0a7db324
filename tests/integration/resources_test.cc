// What the proxy may use: memory per idle session and in all, descriptors, threads.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/programs.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/process_stats.h"
#include "tests/support/tcp_client.h"
#include "tests/support/wait.h"

namespace mcscope::test {
namespace {

constexpr int64_t kMiB = 1 << 20;

// Raises this process's limit of open files; false when the hard limit forbids it.
bool AllowFiles(rlim_t wanted) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < wanted) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

TEST(Resources, FiveThousandIdleSessionsCostEightMebibytesAtMost) {
  constexpr int kIdle = 5000;
  if (!AllowFiles(2 * kIdle + 200)) {
    GTEST_SKIP() << "the hard limit of open files is too low for " << kIdle << " sessions";
  }
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  {
    TcpClient warm_up(proxy.endpoint());
    for (int i = 0; i < 100; ++i) warm_up.Ask("set a 0 0 5\r\nhello\r\nget a\r\n", "END\r\n");
  }
  proxy.Metrics();
  const int64_t before = ResidentBytes(proxy.process().pid());
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < kIdle; ++i) {
    clients.push_back(std::make_unique<TcpClient>(proxy.endpoint()));
    // Each has been at work: idle means "between requests", not "never used".
    ASSERT_EQ(clients.back()->Ask("get b\r\n"), "END\r\n") << i;
  }
  proxy.ExpectMetric("mcscope_sessions", {}, kIdle);
  EXPECT_TRUE(GrewByLessThan(8 * kMiB, proxy.process().pid(), before));
  clients.clear();
  EXPECT_TRUE(Eventually([&] { return proxy.Metrics().Sum("mcscope_sessions") == 0; }));
  EXPECT_TRUE(Eventually([&] { return OpenFiles(proxy.process().pid()) < 50; }));
}

TEST(Resources, WithTwoWorkersAndTenCommandsSeenTheProcessIsUnderFortyMebibytes) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint(), {"--ab=coalesce=off", "--ab_percent=50"});
  std::vector<std::unique_ptr<TcpClient>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<TcpClient>(proxy.endpoint()));
    for (int j = 0; j < 20; ++j) {
      ASSERT_EQ(clients.back()
                    ->Ask("set a 0 0 1\r\n1\r\nget a\r\ngets a\r\nadd a 0 0 1\r\n1\r\n"
                          "append b 0 0 1\r\n1\r\nincr a 1\r\ndelete b\r\ntouch a 0\r\n"
                          "mg a v\r\nms m 1\r\n1\r\nmd m\r\nmn\r\n",
                          "MN\r\n")
                    .substr(0, 8),
                "STORED\r\n");
    }
  }
  // Windows turn, pages are made.
  for (int i = 0; i < 5; ++i) EXPECT_EQ(proxy.Get("/metrics").status, 200);
  EXPECT_EQ(proxy.Get("/legs.json").status, 200);
  EXPECT_TRUE(GrewByLessThan(40 * kMiB, proxy.process().pid(), 0));
}

TEST(Resources, LargeValuesLeaveNoMemoryBehind) {
  Memcached memcached({"-I", "64m", "-m", "256"});
  Mcscope proxy(kMcscope, memcached.endpoint());
  TcpClient client(proxy.endpoint());
  const std::string value(16 * kMiB, 'v');
  client.Ask("set a 0 0 5\r\nhello\r\n");
  const int64_t before = ResidentBytes(proxy.process().pid());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(client.Ask(absl::StrCat("set big 0 0 ", value.size(), "\r\n", value, "\r\n")),
              "STORED\r\n");
    client.Clear();
    client.Send("get big\r\n");
    ASSERT_TRUE(client.ReadBytes(value.size()));
    ASSERT_TRUE(client.ReadUntil("END\r\n"));
  }
  EXPECT_TRUE(GrewByLessThan(4 * kMiB, proxy.process().pid(), before));
}

// The proxy's thread that serves a client: the one whose CPU time grows while that client alone is
// at work. The admin's thread is left alone meanwhile.
pid_t WorkerOf(pid_t proxy, TcpClient* client) {
  std::string pipeline;
  for (int i = 0; i < 500; ++i) pipeline += "get a\r\n";
  const std::map<pid_t, absl::Duration> before = ThreadCpuTimes(proxy);
  pid_t worker = 0;
  EXPECT_TRUE(Eventually([&] {
    client->Clear();
    client->Send(pipeline);
    client->ReadBytes(500 * 5);
    for (const auto& [thread, time] : ThreadCpuTimes(proxy)) {
      if (time - before.at(thread) > absl::Milliseconds(3)) worker = thread;
    }
    return worker != 0;
  }));
  return worker;
}

// How many of the clients each worker serves.
std::map<pid_t, int> Spread(Mcscope* proxy,
                            const std::vector<std::unique_ptr<TcpClient>>& clients) {
  std::map<pid_t, int> spread;
  for (const auto& client : clients) {
    if (client != nullptr) ++spread[WorkerOf(proxy->process().pid(), client.get())];
  }
  return spread;
}

void Connect(const Mcscope& proxy, int count, std::vector<std::unique_ptr<TcpClient>>* clients) {
  for (int i = 0; i < count; ++i) {
    clients->push_back(std::make_unique<TcpClient>(proxy.endpoint()));
    ASSERT_EQ(clients->back()->Ask("mn\r\n"), "MN\r\n");
  }
}

// Few long-lived connections are what luck spreads worst.
TEST(ResourcesTiming, SessionsAreSpreadEvenlyOverTheWorkers) {
  Memcached memcached;
  for (const int count : {2, 4, 6}) {
    Mcscope proxy(kMcscope, memcached.endpoint(), {"--threads=2"});
    std::vector<std::unique_ptr<TcpClient>> clients;
    Connect(proxy, count, &clients);
    const std::map<pid_t, int> spread = Spread(&proxy, clients);
    ASSERT_EQ(spread.size(), 2u);
    for (const auto& [worker, sessions] : spread) EXPECT_EQ(sessions, count / 2);
  }
}

// Connections dealt out in turn would not notice that all who left were on one worker.
TEST(ResourcesTiming, TheWorkerWithTheFewestSessionsTakesTheNext) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint(), {"--threads=2"});
  std::vector<std::unique_ptr<TcpClient>> clients;
  Connect(proxy, 12, &clients);
  for (size_t i = 0; i < clients.size(); i += 2) clients[i].reset();
  ASSERT_TRUE(Eventually([&] { return proxy.Metrics().Sum("mcscope_sessions") == 6; }));
  Connect(proxy, 6, &clients);
  const std::map<pid_t, int> spread = Spread(&proxy, clients);
  ASSERT_EQ(spread.size(), 2u);
  for (const auto& [worker, sessions] : spread) EXPECT_EQ(sessions, 6);
}

}  // namespace
}  // namespace mcscope::test
