// A connection's life, where what one client saw does not tell all: what memcached stored, what
// others see, what was counted.
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/programs.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/oracle.h"
#include "tests/support/tcp_client.h"
#include "tests/support/transparency_row.h"

namespace mcscope::test {
namespace {

TEST(ConnectionLife, C35_NothingIsStoredAfterAHalfCloseInMidValue) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  RunScript(proxy.endpoint(), {Send("set h 0 0 10\r\nabc"), HalfClose()}, {});
  EXPECT_EQ(memcached.Ask("get h\r\n"), "END\r\n");
}

TEST(ConnectionLife, C36_AResetInMidValueReachesMemcachedAndStoresNothing) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  RunScript(proxy.endpoint(), {Send("set h 0 0 10\r\nabcdefghij"), Pause(kGap), Reset()}, {});
  EXPECT_TRUE(proxy.WaitForMetric("mcscope_session_closes_total", {{"cause", "client_reset"}}, 1));
  EXPECT_EQ(memcached.Ask("get h\r\n"), "END\r\n");
  proxy.ExpectMetric("mcscope_requests_total", {{"command", "set"}, {"result", "aborted"}}, 1);
}

TEST(ConnectionLife, C38_MemcachedsIdleTimeoutClosesTheClientToo) {
  Memcached memcached({"-o", "idle_timeout=1"});
  Mcscope proxy(kMcscope, memcached.endpoint());
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("mn\r\n"), "MN\r\n");
  EXPECT_TRUE(client.ReadToEnd(absl::Seconds(15)));
  EXPECT_EQ(client.ending(), Ending::kEof);
  proxy.ExpectMetric("mcscope_session_closes_total", {{"cause", "upstream_closed"}}, 1);
}

TEST(ConnectionLife, C45_ShutdownThroughTheProxyEndsMemcachedOnly) {
  Oracle oracle(kMcscope, {"-A"});
  const Oracle::Verdict verdict =
      oracle.Compare({Send("version\r\n"), Await("\r\n"), Send("shutdown\r\n"), HalfClose()});
  EXPECT_TRUE(verdict.same) << ToString(verdict.direct) << "\n" << ToString(verdict.proxied);
  EXPECT_EQ(oracle.proxy().Get("/healthz").status, 200);
}

TEST(ConnectionLife, C46_WatchersGoOnGettingLines) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  TcpClient watcher(proxy.endpoint());
  EXPECT_EQ(watcher.Ask("watch mutations\r\n"), "OK\r\n");
  watcher.Clear();
  TcpClient writer(proxy.endpoint());
  EXPECT_EQ(writer.Ask("set a 0 0 1\r\n1\r\n"), "STORED\r\n");
  EXPECT_TRUE(watcher.ReadBytes(1));
  EXPECT_NE(watcher.received().find("key=a"), std::string::npos) << watcher.received();
  proxy.ExpectMetric("mcscope_tunnels_total", {{"reason", "watch"}}, 1);
}

TEST(ConnectionLife, C29_TheFirstOfManyRepliesDoesNotWaitForTheLast) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  TcpClient writer(proxy.endpoint());
  const std::string value(500000, 'v');
  EXPECT_EQ(writer.Ask("set big 0 0 500000\r\n" + value + "\r\n"), "STORED\r\n");
  const std::string reply = "VALUE big 0 500000\r\n" + value + "\r\nEND\r\n";
  TcpClient reader(proxy.endpoint());
  ASSERT_TRUE(reader.Send(Repeated(200, "get big\r\n")));
  ASSERT_TRUE(reader.ReadBytes(1));
  EXPECT_LT(reader.received().size(), reply.size() * 100);
  ASSERT_TRUE(reader.ReadBytes(reply.size() * 200, absl::Seconds(60)));
  EXPECT_TRUE(reader.received() == Repeated(200, reply));
}

}  // namespace
}  // namespace mcscope::test
