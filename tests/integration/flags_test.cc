// The command line: what is wrong is said in one clear line, and the exit status tells its kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/programs.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/tcp_client.h"
#include "tests/support/temp_dir.h"

namespace mcscope::test {
namespace {

Finished RunWith(const std::vector<std::string>& flags) {
  Command command;
  command.argv = {kMcscope};
  command.argv.insert(command.argv.end(), flags.begin(), flags.end());
  return RunToEnd(command, kPatience);
}

void ExpectOneLine(const Finished& finished) {
  EXPECT_EQ(std::count(finished.stderr_text.begin(), finished.stderr_text.end(), '\n'), 1)
      << finished.stderr_text;
  EXPECT_TRUE(absl::StartsWith(finished.stderr_text, "mcscope: ")) << finished.stderr_text;
  EXPECT_EQ(finished.stdout_text, "");
}

// --- bad values ---

class BadFlag : public testing::TestWithParam<const char*> {};

TEST_P(BadFlag, IsOneClearLineAndStatusTwo) {
  const std::string flag = GetParam();
  const Finished finished = RunWith({"--listen=127.0.0.1:0", "--admin=127.0.0.1:0", flag});
  EXPECT_EQ(finished.status.value_or(-1), 2);
  ExpectOneLine(finished);
  const std::string name = flag.substr(2, flag.find('=') - 2);
  EXPECT_TRUE(absl::StrContains(finished.stderr_text, name)) << finished.stderr_text;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadFlag,
    testing::Values(
        "--listen=", "--listen=127.0.0.1", "--listen=127.0.0.1:", "--listen=127.0.0.1:65536",
        "--listen=127.0.0.1:-1", "--listen=:::1:5", "--listen=[::1", "--listen=[::1]",
        "--listen=unix:", "--listen=127.0.0.1:http", "--upstream=", "--upstream=127.0.0.1",
        "--upstream=unix:", "--upstream=127.0.0.1:0", "--upstream=127.0.0.1:99999",
        "--admin=", "--admin=127.0.0.1", "--admin=unix:/some/path", "--threads=0", "--threads=-1",
        "--threads=x", "--threads=100000", "--threads=1.5", "--nodelay=maybe",
        "--nodelay=", "--coalesce=2", "--quickack=ON!", "--ab=coalesce", "--ab=coalesce=maybe",
        "--ab=speed=on", "--ab=coalesce=off,coalesce=on", "--ab_percent=101", "--ab_percent=-1",
        "--ab_percent=x", "--ab_percent=50.5", "--hold_limit=x", "--hold_limit=-1",
        "--hold_limit=64KB", "--hold_limit=1GiB", "--hold_limit=99999999999999999999",
        "--connect_timeout=0", "--connect_timeout=-1s", "--connect_timeout=2",
        "--connect_timeout=2y", "--connect_timeout=inf", "--drain_timeout=x", "--drain_timeout=-1s",
        "--max_sessions=-1", "--max_sessions=x", "--buckets=x", "--buckets=", "--buckets=2ms,1ms",
        "--buckets=1ms,1ms", "--buckets=0s,1ms", "--log_level=loud", "--log_level=", "--routes=x",
        "--routes=a=b", "--routes=a=127.0.0.1:0", "--routes=a b=127.0.0.1:0,127.0.0.1:1",
        "--routes=a=127.0.0.1:0,127.0.0.1:1;a=127.0.0.1:0,127.0.0.1:1",
        "--routes==127.0.0.1:0,127.0.0.1:1", "--nothing=1", "--nothing", "--flagfile=/nowhere/x"),
    [](const testing::TestParamInfo<const char*>& param) {
      return absl::StrCat("Number", param.index);
    });

TEST(Flags, AStrayWordIsRefused) {
  const Finished finished = RunWith({"--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "stray"});
  EXPECT_EQ(finished.status.value_or(-1), 2);
  ExpectOneLine(finished);
  EXPECT_TRUE(absl::StrContains(finished.stderr_text, "stray")) << finished.stderr_text;
}

// --- addresses that can not be used ---

void ExpectUnusable(const std::vector<std::string>& flags, const std::string& flag,
                    const std::string& address, const std::string& reason) {
  const Finished finished = RunWith(flags);
  EXPECT_EQ(finished.status.value_or(-1), 1);
  ExpectOneLine(finished);
  for (const std::string& part : {flag, address, reason}) {
    EXPECT_TRUE(absl::StrContains(finished.stderr_text, part)) << finished.stderr_text;
  }
}

TEST(Flags, ATakenPortIsNamedWithFlagAddressAndReason) {
  const Fd taken = ListenOn(Port(0));
  const std::string address = absl::StrCat("127.0.0.1:", LocalPort(taken));
  ExpectUnusable({"--listen=" + address, "--admin=127.0.0.1:0"}, "--listen", address,
                 "Address already in use");
  ExpectUnusable({"--listen=127.0.0.1:0", "--admin=" + address}, "--admin", address,
                 "Address already in use");
  ExpectUnusable({"--routes=a=" + address + ",127.0.0.1:1", "--admin=127.0.0.1:0"}, "--routes",
                 address, "Address already in use");
}

TEST(Flags, AnAddressOfAnotherMachineIsNamed) {
  ExpectUnusable({"--listen=192.0.2.1:0", "--admin=127.0.0.1:0"}, "--listen", "192.0.2.1:0",
                 "Cannot assign requested address");
}

TEST(Flags, AUnixSocketInNoDirectoryIsNamed) {
  TempDir directory;
  const std::string path = directory.File("missing/socket");
  ExpectUnusable({"--listen=unix:" + path, "--admin=127.0.0.1:0"}, "--listen", path,
                 "No such file or directory");
}

TEST(Flags, AFileThatIsNoSocketIsLeftAlone) {
  TempDir directory;
  const std::string path = directory.File("precious");
  WriteFile(path, "data");
  ExpectUnusable({"--listen=unix:" + path, "--admin=127.0.0.1:0"}, "--listen", path,
                 "Address already in use");
  EXPECT_EQ(ReadFile(path), "data");
}

TEST(Flags, ASocketThatAnotherProcessServesIsLeftAlone) {
  TempDir directory;
  const Fd listener = ListenOn(UnixPath(directory.File("socket")));
  ExpectUnusable({"--listen=unix:" + directory.File("socket"), "--admin=127.0.0.1:0"}, "--listen",
                 "socket", "Address already in use");
  EXPECT_TRUE(ConnectTo(UnixPath(directory.File("socket"))).valid());
}

// --- good ones ---

TEST(Flags, HelpIsGoodReadingAndStatusZero) {
  const Finished finished = RunWith({"--help"});
  EXPECT_EQ(finished.status.value_or(-1), 0);
  EXPECT_EQ(finished.stderr_text, "");
  for (const char* flag :
       {"--listen", "--upstream", "--routes", "--admin", "--threads", "--nodelay", "--coalesce",
        "--quickack", "--ab", "--ab_percent", "--hold_limit", "--connect_timeout",
        "--drain_timeout", "--max_sessions", "--buckets", "--log_level", "--flagfile"}) {
    EXPECT_TRUE(absl::StrContains(finished.stdout_text, absl::StrCat("\n  ", flag, "="))) << flag;
  }
}

TEST(Flags, VersionIsTold) {
  const Finished finished = RunWith({"--version"});
  EXPECT_EQ(finished.status.value_or(-1), 0);
  EXPECT_TRUE(absl::StartsWith(finished.stdout_text, "mcscope ")) << finished.stdout_text;
}

TEST(Flags, AFlagFileIsRead) {
  Memcached memcached;
  TempDir directory;
  WriteFile(directory.File("flags"),
            absl::StrCat("--listen=127.0.0.1:0\n--upstream=", memcached.endpoint().ToString(),
                         "\n--coalesce=off\n--ab=quickack=off\n--ab_percent=7\n"));
  Command command;
  command.argv = {"--flagfile=" + directory.File("flags")};
  Mcscope proxy(kMcscope, command);
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("mn\r\n"), "MN\r\n");
  EXPECT_TRUE(absl::StrContains(proxy.Get("/settings").body, "\"ab_percent\": 7"));
}

TEST(Flags, SeveralRoutesEachReachTheirUpstreamUnderTheirName) {
  Memcached first, second;
  first.Ask("set who 0 0 5\r\nfirst\r\n");
  second.Ask("set who 0 0 6\r\nsecond\r\n");
  Command command;
  command.argv = {absl::StrCat("--routes=one=127.0.0.1:0,", first.endpoint().ToString(),
                               ";two=127.0.0.1:0,", second.endpoint().ToString())};
  Mcscope proxy(kMcscope, command);
  TcpClient to_first(proxy.endpoint("one"));
  TcpClient to_second(proxy.endpoint("two"));
  EXPECT_EQ(to_first.Ask("get who\r\n", "END\r\n"), "VALUE who 0 5\r\nfirst\r\nEND\r\n");
  EXPECT_EQ(to_second.Ask("get who\r\n", "END\r\n"), "VALUE who 0 6\r\nsecond\r\nEND\r\n");
  EXPECT_EQ(to_second.Ask("get nobody\r\n"), "END\r\n");
  ASSERT_TRUE(proxy.WaitForMetric("mcscope_requests_total", {}, 3));
  proxy.ExpectMetric("mcscope_requests_total", {{"route", "one"}}, 1);
  proxy.ExpectMetric("mcscope_requests_total", {{"route", "two"}}, 2);
  proxy.ExpectMetric("mcscope_sessions", {{"route", "two"}}, 1);
}

TEST(Flags, AnUpstreamMayBeAHostName) {
  Memcached memcached;
  Command command;
  command.argv = {"--listen=127.0.0.1:0", absl::StrCat("--upstream=localhost:", memcached.port())};
  Mcscope proxy(kMcscope, command);
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("mn\r\n"), "MN\r\n");
}

TEST(Flags, UnixSocketsServeOnBothSides) {
  TempDir directory;
  Memcached memcached(UnixPath(directory.File("memcached")), {});
  Command command;
  command.argv = {"--listen=unix:" + directory.File("proxy"),
                  "--upstream=unix:" + directory.File("memcached")};
  {
    Mcscope proxy(kMcscope, command);
    TcpClient client(proxy.endpoint());
    EXPECT_EQ(client.Ask("set a 0 0 5\r\nhello\r\n"), "STORED\r\n");
    EXPECT_EQ(client.Ask("get a\r\n", "END\r\n"), "VALUE a 0 5\r\nhello\r\nEND\r\n");
    proxy.ExpectMetric("mcscope_nodelay_failures_total", {}, 0);
    EXPECT_EQ(proxy.Get("/readyz").status, 200);
  }
}

// A proxy that was killed leaves its socket behind; the next one takes its place.
TEST(Flags, AStaleUnixSocketIsReplaced) {
  Memcached memcached;
  TempDir directory;
  Command command;
  command.argv = {"--listen=unix:" + directory.File("proxy"),
                  "--upstream=" + memcached.endpoint().ToString()};
  {
    Command whole = command;
    whole.argv.insert(whole.argv.begin(), kMcscope);
    whole.argv.emplace_back("--admin=127.0.0.1:0");
    Subprocess killed(whole);
    ASSERT_FALSE(killed.WaitForLine("mcscope: ready\n", kPatience).empty()) << killed.Stderr();
    killed.Signal(SIGKILL);
    ASSERT_TRUE(killed.Wait(kPatience).has_value());
  }
  Mcscope proxy(kMcscope, command);
  TcpClient client(proxy.endpoint());
  EXPECT_EQ(client.Ask("mn\r\n"), "MN\r\n");
}

}  // namespace
}  // namespace mcscope::test
