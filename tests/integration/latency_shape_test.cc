// The stall of split writes: where it must appear and where it must vanish, and that the metrics
// say so. Every test here can fail both ways: with a stall that is cured without its treatment, and
// with one that its treatment does not cure.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/integration/programs.h"
#include "tests/support/binary_packet.h"
#include "tests/support/mcscope.h"
#include "tests/support/memcached.h"
#include "tests/support/oracle.h"
#include "tests/support/split_writer.h"

namespace mcscope::test {
namespace {

// A delayed ACK takes 40 ms or a little more; without one a set takes well under 1 ms, even if now
// and then a busy machine makes it ten.
const absl::Duration kStalled = absl::Milliseconds(30);
const absl::Duration kQuick = absl::Milliseconds(15);
constexpr int kSets = 12;
constexpr int kWarmUps = 3;  // the first ones never stall: a new connection is acknowledged at once
const char kLegs[] = "mcscope_leg_duration_seconds";

class LatencyShapeTiming : public testing::Test {
 protected:
  Memcached memcached_;
};

TEST_F(LatencyShapeTiming, StallsDirectlyAndThroughAProxyWithoutQuickAckOnly) {
  Mcscope proxy(kMcscope, memcached_.endpoint());
  SplitWriter direct(memcached_.endpoint());
  direct.Sets(kWarmUps);
  EXPECT_GT(Median(direct.Sets(kSets)), kStalled);

  for (const bool quickack : {false, true, false, true}) {
    proxy.Set(quickack ? R"({"quickack":"on"})" : R"({"quickack":"off"})");
    SplitWriter writer(proxy.endpoint());
    writer.Sets(kWarmUps);
    const absl::Duration median = Median(writer.Sets(kSets));
    EXPECT_TRUE(writer.all_stored());
    if (quickack) {
      EXPECT_LT(median, kQuick);
    } else {
      EXPECT_GT(median, kStalled);
    }
  }
}

TEST_F(LatencyShapeTiming, WithoutQuickAckTheStallIsCountedInTheClientReadLeg) {
  Mcscope proxy(kMcscope, memcached_.endpoint(), {"--quickack=off"});
  SplitWriter writer(proxy.endpoint());
  writer.Sets(kWarmUps + kSets);
  ASSERT_TRUE(
      proxy.WaitForMetric("mcscope_requests_total", {{"result", "stored"}}, kWarmUps + kSets));
  const Exposition metrics = proxy.Metrics();
  EXPECT_GE(metrics.Sum("mcscope_stalls_total", {{"leg", "client_read"}}), kSets - 2);
  EXPECT_EQ(metrics.Sum("mcscope_stalls_total", {{"leg", "upstream_read"}}), 0);
  EXPECT_GE(metrics.Between(kLegs, 0.03, 0.25, {{"leg", "client_read"}}), kSets - 2);
  for (const char* leg : {"request_queue", "upstream_wait", "upstream_read", "client_write"}) {
    EXPECT_LE(metrics.Between(kLegs, 0.03, 5, {{"leg", leg}}), 2) << leg;
  }
  EXPECT_EQ(metrics.Sum("mcscope_quickacks_total"), 0);
}

TEST_F(LatencyShapeTiming, WithQuickAckNoStallIsCounted) {
  Mcscope proxy(kMcscope, memcached_.endpoint(), {"--quickack=on"});
  SplitWriter writer(proxy.endpoint());
  writer.Sets(kWarmUps + kSets);
  ASSERT_TRUE(
      proxy.WaitForMetric("mcscope_requests_total", {{"result", "stored"}}, kWarmUps + kSets));
  const Exposition metrics = proxy.Metrics();
  EXPECT_LE(metrics.Sum("mcscope_stalls_total"), 2);
  EXPECT_GE(metrics.Between(kLegs, 0, 0.02, {{"leg", "client_read"}}), kWarmUps + kSets - 2);
  EXPECT_GE(metrics.Sum("mcscope_quickacks_total", {{"side", "client"}}), kSets);
}

TEST_F(LatencyShapeTiming, TheTenKilobyteSetIsCuredLikewise) {
  for (const char* quickack : {"off", "on"}) {
    Mcscope proxy(kMcscope, memcached_.endpoint(), {std::string("--quickack=") + quickack});
    SplitWriter writer(proxy.endpoint(), 10240);
    writer.Sets(kWarmUps);
    const absl::Duration median = Median(writer.Sets(kSets));
    EXPECT_EQ(median > kStalled, std::string(quickack) == "off") << median;
  }
}

// --- in the binary protocol ---

ConnectOptions WithNagle() {
  ConnectOptions options;
  options.nodelay = false;
  return options;
}

// Sends the pieces apart and waits for a reply to `opcode`, `count` times: how long each took.
std::vector<absl::Duration> InPieces(TcpClient* client, const std::vector<std::string>& pieces,
                                     uint8_t opcode, int count) {
  const std::string head = {'\x81', static_cast<char>(opcode)};
  std::vector<absl::Duration> durations;
  for (int i = 0; i < count; ++i) {
    const absl::Time start = absl::Now();
    client->Clear();
    for (const std::string& piece : pieces) client->Send(piece);
    EXPECT_TRUE(client->ReadBytes(24));
    EXPECT_EQ(client->received().substr(0, 2), head);
    durations.push_back(absl::Now() - start);
  }
  return durations;
}

struct BinaryShape {
  const char* name;
  std::vector<std::string> pieces;
  uint8_t opcode;
};

void PrintTo(const BinaryShape& shape, std::ostream* out) { *out << shape.name; }

class BinaryLatencyShapeTiming : public testing::TestWithParam<BinaryShape> {};

TEST_P(BinaryLatencyShapeTiming, StallsWithoutQuickAckOnly) {
  Memcached memcached;
  Mcscope proxy(kMcscope, memcached.endpoint());
  for (const bool quickack : {false, true, false, true}) {
    proxy.Set(quickack ? R"({"quickack":"on"})" : R"({"quickack":"off"})");
    TcpClient client(proxy.endpoint(), WithNagle());
    const BinaryShape& shape = GetParam();
    InPieces(&client, shape.pieces, shape.opcode, kWarmUps);
    const absl::Duration median = Median(InPieces(&client, shape.pieces, shape.opcode, 20));
    if (quickack) {
      EXPECT_LT(median, kQuick);
    } else {
      EXPECT_GT(median, kStalled);
    }
  }
}

const std::string kBinarySet = Binary(kOpSet, "split", std::string(600, 'v'));

INSTANTIATE_TEST_SUITE_P(
    All, BinaryLatencyShapeTiming,
    testing::Values(
        BinaryShape{"SplitSet",
                    {kBinarySet.substr(0, 24), kBinarySet.substr(24, 13), kBinarySet.substr(37)},
                    kOpSet},
        // The first is complete, but a miss has no reply that would carry the ACK.
        BinaryShape{"QuietGetThenNoop", {Binary(kOpGetKQ, "none"), Binary(kOpNoop)}, kOpNoop}),
    [](const auto& param) { return param.param.name; });

// A live switch shows its effect on connections that are open already.
TEST_F(LatencyShapeTiming, SwitchingQuickAckCuresAnOpenConnection) {
  Mcscope proxy(kMcscope, memcached_.endpoint(), {"--quickack=off"});
  SplitWriter writer(proxy.endpoint());
  writer.Sets(kWarmUps);
  EXPECT_GT(Median(writer.Sets(kSets)), kStalled);
  proxy.Set(R"({"quickack":"on"})");
  writer.Sets(kWarmUps);
  EXPECT_LT(Median(writer.Sets(kSets)), kQuick);
  proxy.Set(R"({"quickack":"off"})");
  writer.Sets(kWarmUps + 20);  // the kernel goes on in its quick mode for a while
  EXPECT_GT(Median(writer.Sets(kSets)), kStalled);
}

// With Nagle's algorithm on the proxy's own socket and split requests going on as they came, the
// stall moves to memcached's side: so each treatment is needed, and does what it says.
struct Expectation {
  const char* flags[3];
  bool stalls;
  const char* leg;
};

void PrintTo(const Expectation& expectation, std::ostream* out) {
  for (const char* flag : expectation.flags) *out << flag << " ";
}

class TreatmentTiming : public testing::TestWithParam<Expectation> {};

TEST_P(TreatmentTiming, StallsExactlyWhereItShould) {
  Memcached memcached;
  const Expectation& expected = GetParam();
  Mcscope proxy(kMcscope, memcached.endpoint(),
                {expected.flags[0], expected.flags[1], expected.flags[2]});
  SplitWriter writer(proxy.endpoint());
  writer.Sets(kWarmUps);
  const absl::Duration median = Median(writer.Sets(kSets));
  EXPECT_EQ(median > kStalled, expected.stalls) << median;
  EXPECT_TRUE(expected.stalls || median < kQuick) << median;
  ASSERT_TRUE(
      proxy.WaitForMetric("mcscope_requests_total", {{"result", "stored"}}, kWarmUps + kSets));
  const Exposition metrics = proxy.Metrics();
  for (const char* leg : {"client_read", "upstream_wait"}) {
    const double slow = metrics.Between(kLegs, 0.03, 5, {{"leg", leg}});
    if (expected.stalls && std::string(leg) == expected.leg) {
      EXPECT_GE(slow, kSets - 2) << leg;
    } else {
      EXPECT_LE(slow, 2) << leg;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TreatmentTiming,
    testing::Values(
        Expectation{{"--nodelay=on", "--coalesce=on", "--quickack=on"}, false, ""},
        Expectation{{"--nodelay=on", "--coalesce=off", "--quickack=on"}, false, ""},
        Expectation{{"--nodelay=off", "--coalesce=on", "--quickack=on"}, false, ""},
        Expectation{{"--nodelay=off", "--coalesce=off", "--quickack=on"}, true, "upstream_wait"},
        Expectation{{"--nodelay=on", "--coalesce=on", "--quickack=off"}, true, "client_read"},
        Expectation{{"--nodelay=on", "--coalesce=off", "--quickack=off"}, true, "client_read"},
        Expectation{{"--nodelay=off", "--coalesce=on", "--quickack=off"}, true, "client_read"}));

}  // namespace
}  // namespace mcscope::test
