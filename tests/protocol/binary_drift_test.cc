// What the framer says of a binary stream's requests, and which get a reply, is what the installed
// memcached makes of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/protocol/binary_traffic.h"
#include "tests/protocol/judge.h"
#include "tests/protocol/request_cases.h"
#include "tests/support/binary_packet.h"

namespace mcscope::protocol {
namespace {

using test::Binary;
using namespace test;  // NOLINT: the opcodes

TEST(BinaryDriftTest, EachCaseIsAnsweredAsForetold) {
  Judge judge(Dialect::kBinary);
  for (const RequestCase& c : BinaryRequestCases()) {
    SCOPED_TRACE(c.name);
    for (const auto& request : c.requests) judge.OneByOne(request.first);
  }
}

TEST(BinaryDriftTest, EachCaseIsAnsweredAsForetoldInAPipeline) {
  Judge judge(Dialect::kBinary);
  std::string before = Binary(kOpSetQ, "a", "1") + Binary(kOpGetQ, "a");
  for (const RequestCase& c : BinaryRequestCases()) {
    SCOPED_TRACE(c.name);
    for (const auto& request : c.requests) {
      judge.AsPipeline(before + request.first + Binary(kOpGetKQ, "a"), {});
    }
  }
  EXPECT_EQ(judge.unsure(), 0);
}

TEST(BinaryDriftTest, MemcachedIsSilentUntilAHoldableRequestIsWhole) {
  Judge judge(Dialect::kBinary);
  for (const RequestCase& c : BinaryRequestCases()) {
    SCOPED_TRACE(c.name);
    for (const auto& request : c.requests) {
      const size_t step = request.first.size() > 300 ? 41 : 1;
      for (size_t cut = 1; cut < request.first.size(); cut += step) {
        judge.InTwo(request.first, cut);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(BinaryDriftTest, MemcachedIsSilentInLargeValues) {
  Judge judge(Dialect::kBinary);
  for (const uint8_t opcode : {kOpSet, kOpSetQ, kOpAppend}) {
    for (const size_t size : {700'000, 2'000'000}) {
      const std::string request = Binary(opcode, "big", Times('x', size));
      for (const size_t cut : {size_t{24}, size_t{40}, size_t{100'000}, request.size() - 1}) {
        judge.InTwo(request, cut);
      }
    }
  }
}

TEST(BinaryDriftTest, HeadsLongerThanMemcachedReadsAreForetold) {
  Judge judge(Dialect::kBinary);
  for (const size_t size : {16384 - 24, 16384 - 23, 20000, 65535}) {
    const std::string request = Binary(kOpGet, Times('k', size));
    judge.OneByOne(request);
    judge.InTwo(request, 24);
    judge.InTwo(request, 5000);
    judge.InTwo(request, request.size() - 1);
  }
}

TEST(BinaryDriftTest, AWrongMagicEndsTheConnection) {
  test::Memcached memcached;
  for (const char* wrong : {"\x81", "\x7f", "g", "\r"}) {
    const std::string stream = Binary(kOpVersion) + wrong + std::string(23, '\0');
    EXPECT_EQ(Name(FrameRequests(stream).reason), "bad_magic");
    TcpClient client(memcached.endpoint());
    client.Send(stream);
    EXPECT_TRUE(client.ReadToEnd()) << Escape(wrong);
    EXPECT_EQ(client.received(), "") << "the replies that waited are lost";
  }
}

// Some of what clients do: libmemcached's fetch of many keys, pipelines of quiet stores, and the
// quiet ones before a fence.
TEST(BinaryDriftTest, QuietPipelinesArePaired) {
  for (const bool same_opaques : {true, false}) {
    Judge judge(Dialect::kBinary);
    std::string fetch, store;
    for (uint32_t i = 0; i < 500; ++i) {
      const uint32_t opaque = same_opaques ? 0 : i;
      const std::string key = absl::StrCat("key_", i);
      fetch += Binary(kOpGetKQ, key, "", opaque) + Binary(kOpGetQ, key, "", opaque);
      if (i % 7 == 0) store += Binary(kOpSetQ, key, "value", opaque);
      store += Binary(kOpAddQ, key, "value", opaque) + Binary(kOpDeleteQ, "none", "", opaque);
    }
    for (const std::string& stream : {fetch, store, fetch}) {
      const std::string pipeline = stream + Binary(kOpNoop);
      judge.AsPipeline(pipeline, {});
      judge.AsPipeline(pipeline, {pipeline.size() / 3, pipeline.size() / 2});
    }
    EXPECT_EQ(judge.unsure(), 0);
  }
}

TEST(BinaryDriftTest, WithoutFlushing) {
  Judge judge(Dialect::kBinary, {"-F"});
  judge.OneByOne(Binary(kOpFlush) + Binary(kOpFlushQ));
  judge.AsPipeline(Binary(kOpFlushQ) + Binary(kOpFlush) + Binary(kOpGetQ, "a"), {});
}

// With --gtest_random_seed=N the tests below meet other traffic; without it, always the same.
uint64_t Seed(int number) {
  return static_cast<uint64_t>(testing::GTEST_FLAG(random_seed)) * 1'000'000 + number;
}

TEST(BinaryDriftTest, RandomRequestsAreAnsweredAsForetold) {
  Judge judge(Dialect::kBinary);
  for (int number = 0; number < 2000; ++number) {
    SCOPED_TRACE(absl::StrCat("seed ", Seed(number)));
    judge.OneByOne(BinaryTraffic(Seed(number)).Pipeline());
    if (HasFailure()) return;
  }
}

TEST(BinaryDriftTest, RandomPipelinesArePaired) {
  Judge judge(Dialect::kBinary);
  for (int number = 0; number < 5000; ++number) {
    SCOPED_TRACE(absl::StrCat("seed ", Seed(number)));
    BinaryTraffic traffic(Seed(number));
    const std::string stream = traffic.Pipeline();
    judge.AsPipeline(stream, traffic.RandomCuts(stream.size(), 4));
    if (HasFailure()) return;
  }
  EXPECT_LT(judge.unsure() * 500, judge.pipelines()) << judge.unsure();
}

}  // namespace
}  // namespace mcscope::protocol
