#include "proxy/admin/readiness.h"

#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/proxy/io/turn.h"
#include "tests/support/endpoint.h"
#include "tests/support/temp_dir.h"

namespace mcscope::admin {
namespace {

using ::testing::HasSubstr;

class ReadinessTest : public ::testing::Test {
 protected:
  struct Verdict {
    bool ready;
    std::string report;
  };

  // One that accepts.
  std::string Accepting() {
    listening_.push_back(test::ListenOn(test::Port(0)));
    return test::Port(test::LocalPort(listening_.back())).ToString();
  }
  static std::string Refusing() {
    const test::Fd listening = test::ListenOn(test::Port(0));
    return test::Port(test::LocalPort(listening)).ToString();
  }
  Verdict Ask(const std::vector<std::pair<std::string, std::string>>& upstreams,
              absl::Duration timeout = test::kPatience) {
    Readiness::Upstreams resolved;
    for (const auto& [name, address] : upstreams) {
      resolved.emplace_back(name, *io::Address::Parse(address)->Resolve());
    }
    absl::optional<Verdict> verdict;
    Readiness readiness(&loop_, resolved, timeout);
    readiness.Check([&verdict](bool ready, const std::string& report) {
      EXPECT_FALSE(verdict.has_value());  // said once
      verdict = Verdict{ready, report};
    });
    EXPECT_FALSE(verdict.has_value());  // in a later turn
    EXPECT_TRUE(io::TurnUntil(&loop_, [&] { return verdict.has_value(); }));
    return verdict.value_or(Verdict{});
  }

  io::Loop loop_;
  std::vector<test::Fd> listening_;
};

TEST_F(ReadinessTest, AnUpstreamThatAcceptsIsReady) {
  const std::string address = Accepting();
  const Verdict verdict = Ask({{"default", address}});
  EXPECT_TRUE(verdict.ready);
  EXPECT_EQ(verdict.report, absl::StrCat("default ", address, " ok\n"));
}

TEST_F(ReadinessTest, SaysNothingToMemcachedAndKeepsNothingOpen) {
  const std::string address = Accepting();
  Ask({{"default", address}});
  const test::Fd accepted(accept(listening_[0].get(), nullptr, nullptr));
  char byte;
  EXPECT_EQ(recv(accepted.get(), &byte, 1, 0), 0);  // the end, and nothing before it
}

TEST_F(ReadinessTest, AnUpstreamThatRefusesIsNot) {
  const std::string address = Refusing();
  const Verdict verdict = Ask({{"default", address}});
  EXPECT_FALSE(verdict.ready);
  EXPECT_EQ(verdict.report, absl::StrCat("default ", address, " Connection refused\n"));
}

TEST_F(ReadinessTest, AUnixSocketThatIsNotThereIsNot) {
  const test::TempDir directory;
  const std::string address = absl::StrCat("unix:", directory.File("none"));
  const Verdict verdict = Ask({{"default", address}});
  EXPECT_FALSE(verdict.ready);
  EXPECT_EQ(verdict.report, absl::StrCat("default ", address, " No such file or directory\n"));
}

TEST_F(ReadinessTest, AnUpstreamThatDoesNotAnswerIsNot) {
  listening_.push_back(test::ListenOn(test::Port(0), /*backlog=*/0));
  const test::Endpoint full = test::Port(test::LocalPort(listening_[0]));
  const test::Fd filler = test::ConnectTo(full);
  const Verdict verdict = Ask({{"default", full.ToString()}}, absl::Milliseconds(50));
  EXPECT_FALSE(verdict.ready);
  EXPECT_EQ(verdict.report, absl::StrCat("default ", full.ToString(), " Connection timed out\n"));
}

TEST_F(ReadinessTest, AllAreAskedAndOneThatFailsDecides) {
  const std::string good = Accepting(), bad = Refusing(), other = Accepting();
  const Verdict verdict = Ask({{"a", good}, {"b", bad}, {"c", other}});
  EXPECT_FALSE(verdict.ready);
  EXPECT_THAT(verdict.report, HasSubstr(absl::StrCat("a ", good, " ok\n")));
  EXPECT_THAT(verdict.report, HasSubstr(absl::StrCat("b ", bad, " Connection refused\n")));
  EXPECT_THAT(verdict.report, HasSubstr(absl::StrCat("c ", other, " ok\n")));
  EXPECT_TRUE(Ask({{"a", good}, {"c", other}}).ready);
}

TEST_F(ReadinessTest, SeveralMayAskAtOnce) {
  Readiness readiness(&loop_, {{"default", *io::Address::Parse(Accepting())->Resolve()}},
                      test::kPatience);
  int ready = 0;
  for (int i = 0; i < 3; ++i) {
    readiness.Check([&ready](bool good, const std::string&) { ready += good ? 1 : 0; });
  }
  EXPECT_TRUE(io::TurnUntil(&loop_, [&] { return ready == 3; }));
}

TEST_F(ReadinessTest, WhoAskedIsNotToldWhenItGoes) {
  listening_.push_back(test::ListenOn(test::Port(0), /*backlog=*/0));
  const test::Endpoint full = test::Port(test::LocalPort(listening_[0]));
  const test::Fd filler = test::ConnectTo(full);
  const auto waiting = std::make_shared<bool>(true);
  {
    Readiness readiness(&loop_, {{"default", *io::Address::Parse(full.ToString())->Resolve()}},
                        test::kPatience);
    readiness.Check([waiting](bool, const std::string&) { *waiting = false; });
    io::Turn(&loop_);
  }
  io::Turn(&loop_);
  EXPECT_TRUE(*waiting);
  EXPECT_EQ(waiting.use_count(), 1);  // nothing of it is left
}

}  // namespace
}  // namespace mcscope::admin
