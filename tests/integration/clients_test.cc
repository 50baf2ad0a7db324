// Real clients, unmodified, through the proxy: the programs in demo/clients, which set values and
// read each of them back.
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/programs.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/oracle.h"

namespace mcscope::test {
namespace {

struct Client {
  const char* name;
  std::vector<std::string> argv;
  std::vector<std::string> more = {};  // behind port, size and count
};

void PrintTo(const Client& client, std::ostream* out) { *out << client.name; }

std::string Demo(const std::string& path) {
  return absl::StrCat(kSourceDirectory, "/demo/clients/", path);
}

class RealClient : public testing::TestWithParam<Client> {};

TEST_P(RealClient, StoresAndReadsBackWithEveryCombinationOfTreatments) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  for (const Combination& combination : AllCombinations()) {
    proxy.Set(combination.settings);
    for (const char* size : {"600", "102400"}) {
      Command command;
      command.argv = GetParam().argv;
      command.argv.push_back(absl::StrCat(proxy.endpoint().port));
      command.argv.insert(command.argv.end(), {size, "6"});
      command.argv.insert(command.argv.end(), GetParam().more.begin(), GetParam().more.end());
      const Finished finished = RunToEnd(command, absl::Seconds(60));
      EXPECT_EQ(finished.status.value_or(-1), 0) << combination.name << " " << size << "\n"
                                                 << finished.stdout_text << finished.stderr_text;
    }
  }
  const Exposition metrics = proxy.Metrics();
  EXPECT_GE(metrics.Sum("mcscope_requests_total", {{"result", "stored"}}), 8 * 2 * 6);
  EXPECT_EQ(metrics.Sum("mcscope_requests_total", {{"result", "error"}}), 0);
  EXPECT_EQ(metrics.Sum("mcscope_tunnels_total"), 0);
}

std::string NameOf(const testing::TestParamInfo<Client>& param) { return param.param.name; }

INSTANTIATE_TEST_SUITE_P(
    All, RealClient,
    testing::Values(Client{"libmemcached", {kLibmemcachedClient}},
                    Client{"libmemcached_binary", {kLibmemcachedClient}, {"binary"}},
                    Client{"pymemcache", {"/usr/bin/python3", Demo("pymemcache/client.py")}},
                    Client{"npm_memcache_client", {"node", Demo("npm/client.js")}}),
    NameOf);

}  // namespace
}  // namespace mcscope::test
