#include "proxy/options.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace mcscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Flags are global: each test gets them with their defaults and leaves them so. (absl::FlagSaver
// would do, but logs a line for each.)
class OptionsTest : public ::testing::Test {
 protected:
  ~OptionsTest() override {
    for (const auto& [name, flag] : absl::GetAllFlags()) {
      std::string error;
      if (flag->CurrentValue() != flag->DefaultValue())
        flag->ParseFrom(flag->DefaultValue(), &error);
    }
  }
  static absl::StatusOr<Options> Parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "mcscope");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    return ParseOptions(static_cast<int>(arguments.size()), argv.data());
  }
  static Options Good(std::vector<std::string> arguments) {
    absl::StatusOr<Options> options = Parse(std::move(arguments));
    EXPECT_TRUE(options.ok()) << options.status();
    return options.ok() ? *std::move(options) : Options();
  }
  static std::string ErrorOf(std::vector<std::string> arguments) {
    const absl::StatusOr<Options> options = Parse(std::move(arguments));
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(options.status().message());
  }
};

TEST_F(OptionsTest, DefaultsAreThoseOfTheHelp) {
  const Options options = Good({});
  ASSERT_THAT(options.routes, SizeIs(1));
  EXPECT_EQ(options.routes[0].name, "default");
  EXPECT_EQ(options.routes[0].listen.ToString(), "127.0.0.1:11212");
  EXPECT_EQ(options.routes[0].upstream.ToString(), "127.0.0.1:11211");
  EXPECT_EQ(options.routes[0].listen_flag, "--listen");
  EXPECT_EQ(options.routes[0].upstream_flag, "--upstream");
  EXPECT_EQ(options.admin.ToString(), "127.0.0.1:9151");
  EXPECT_GE(options.threads, 1);
  EXPECT_EQ(options.max_sessions, 0u);
  EXPECT_EQ(options.drain_timeout, absl::Seconds(30));
  EXPECT_EQ(options.limits.hold_limit, 64u << 10);
  EXPECT_EQ(options.limits.connect_timeout, absl::Seconds(2));
  EXPECT_TRUE(options.settings.treatments.nodelay);
  EXPECT_TRUE(options.settings.treatments.coalesce);
  EXPECT_TRUE(options.settings.treatments.quickack);
  EXPECT_FALSE(options.settings.ab.any());
  EXPECT_EQ(options.settings.ab_percent, 50);
  EXPECT_EQ(options.settings.log_level, LogLevel::kInfo);
  EXPECT_THAT(options.buckets.edges(), SizeIs(25));
}

TEST_F(OptionsTest, EveryFlagCounts) {
  const Options options =
      Good({"--listen=[::1]:0", "--upstream=unix:/run/memcached.sock", "--admin=0.0.0.0:0",
            "--threads=3", "--nodelay=off", "--coalesce=off", "--quickack=off", "--ab=coalesce=on",
            "--ab_percent=25", "--hold_limit=16KiB", "--connect_timeout=250ms",
            "--drain_timeout=0s", "--max_sessions=1000", "--buckets=1ms,1s", "--log_level=error"});
  ASSERT_THAT(options.routes, SizeIs(1));
  EXPECT_EQ(options.routes[0].listen.ToString(), "[::1]:0");
  EXPECT_EQ(options.routes[0].upstream.ToString(), "unix:/run/memcached.sock");
  EXPECT_EQ(options.admin.ToString(), "0.0.0.0:0");
  EXPECT_EQ(options.threads, 3);
  EXPECT_FALSE(options.settings.treatments.nodelay);
  EXPECT_FALSE(options.settings.treatments.coalesce);
  EXPECT_FALSE(options.settings.treatments.quickack);
  EXPECT_EQ(options.settings.ab.ToString(), "coalesce=on");
  EXPECT_EQ(options.settings.ab_percent, 25);
  EXPECT_EQ(options.limits.hold_limit, 16u << 10);
  EXPECT_EQ(options.limits.connect_timeout, absl::Milliseconds(250));
  EXPECT_EQ(options.drain_timeout, absl::ZeroDuration());
  EXPECT_EQ(options.max_sessions, 1000u);
  EXPECT_THAT(options.buckets.edges(), SizeIs(2));
  EXPECT_EQ(options.settings.log_level, LogLevel::kError);
}

TEST_F(OptionsTest, SizesTakeTheirUnits) {
  EXPECT_EQ(Good({"--hold_limit=0"}).limits.hold_limit, 0u);
  EXPECT_EQ(Good({"--hold_limit=4096"}).limits.hold_limit, 4096u);
  EXPECT_EQ(Good({"--hold_limit=100B"}).limits.hold_limit, 100u);
  EXPECT_EQ(Good({"--hold_limit=1024KiB"}).limits.hold_limit, 1u << 20);
  EXPECT_EQ(Good({"--hold_limit=1MiB"}).limits.hold_limit, 1u << 20);
}

TEST_F(OptionsTest, TheLastOneOfAFlagCounts) {
  EXPECT_EQ(Good({"--threads=2", "--threads=3"}).threads, 3);
}

TEST_F(OptionsTest, AFlagfileIsReadWhereItStands) {
  const test::TempDir directory;
  const std::string inner = directory.File("inner"), outer = directory.File("outer");
  test::WriteFile(inner, "--ab_percent=30\n");
  test::WriteFile(outer, "# comment\n\n--threads=2\n--flagfile=" + inner + "\n--nodelay=off\n");
  const Options options = Good({"--threads=5", "--flagfile=" + outer, "--nodelay=on"});
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.settings.ab_percent, 30);
  EXPECT_TRUE(options.settings.treatments.nodelay);
}

struct BadValue {
  const char* flag;
  const char* value;
  const char* quoted = value;  // what of it is wrong
};

void PrintTo(const BadValue& bad, std::ostream* out) { *out << bad.flag << '=' << bad.value; }

class BadValues : public OptionsTest, public ::testing::WithParamInterface<BadValue> {};

TEST_P(BadValues, AreOneLineThatNamesTheFlagAndQuotesTheValue) {
  const auto& [flag, value, quoted] = GetParam();
  const std::string error = ErrorOf({absl::StrCat("--", flag, "=", value)});
  EXPECT_TRUE(absl::StartsWith(error, absl::StrCat("--", flag, ": "))) << error;
  EXPECT_THAT(error, HasSubstr(absl::StrCat("'", quoted, "'")));
  EXPECT_THAT(error, Not(HasSubstr("\n")));
  EXPECT_GT(error.size(), std::string(flag).size() + std::string(quoted).size() + 10) << error;
}

const BadValue kBadValues[] = {
    {"listen", "11212"},
    {"listen", "127.0.0.1:port"},
    {"listen", "unix:relative"},
    {"upstream", ""},
    {"upstream", "127.0.0.1:65536"},
    {"upstream", "::1:11211"},
    {"admin", "9151"},
    {"threads", "0"},
    {"threads", "257"},
    {"threads", "-1"},
    {"threads", "two"},
    {"threads", ""},
    {"nodelay", "yes"},
    {"coalesce", "true"},
    {"quickack", ""},
    {"ab", "speed=off"},
    {"ab", "coalesce", ""},
    {"ab", "coalesce=0", "0"},
    {"ab_percent", "101"},
    {"ab_percent", "-1"},
    {"ab_percent", "half"},
    {"hold_limit", "64KB"},
    {"hold_limit", "2MiB"},
    {"hold_limit", "-1"},
    {"hold_limit", "KiB"},
    {"hold_limit", ""},
    {"hold_limit", "18446744073709551616"},
    {"hold_limit", "18014398509481984KiB"},
    {"connect_timeout", "2"},
    {"connect_timeout", "0s"},
    {"connect_timeout", "500us"},
    {"connect_timeout", "61m"},
    {"connect_timeout", "inf"},
    {"connect_timeout", "soon"},
    {"drain_timeout", "-1s"},
    {"drain_timeout", "2h"},
    {"drain_timeout", ""},
    {"max_sessions", "-1"},
    {"max_sessions", "4294967296"},
    {"max_sessions", "many"},
    {"buckets", "1ms,1ms", "1ms"},
    {"buckets", "1ms,fast", "fast"},
    {"log_level", "verbose"},
    {"routes", "a"},
    {"routes", "a=127.0.0.1:1"},
    {"routes", "a=127.0.0.1:1,"},
    {"routes", "=127.0.0.1:1,127.0.0.1:2"},
    {"routes", "a b=127.0.0.1:1,127.0.0.1:2"},
    {"routes", "a\"=127.0.0.1:1,127.0.0.1:2"},
};

INSTANTIATE_TEST_SUITE_P(Options, BadValues, ::testing::ValuesIn(kBadValues));

TEST_F(OptionsTest, TheFirstBadFlagIsTold) {
  EXPECT_EQ(ErrorOf({"--nodelay=maybe", "--threads=0"}),
            "--nodelay: 'maybe' is neither on nor off");
}

TEST_F(OptionsTest, UnknownFlagsAreOneLine) {
  EXPECT_EQ(ErrorOf({"--colesce=off"}), "'--colesce=off' is no flag of mcscope; see --help");
  EXPECT_EQ(ErrorOf({"now"}), "'now' is not a flag; see --help");
}

TEST_F(OptionsTest, AdminIsNoUnixSocket) {
  EXPECT_EQ(ErrorOf({"--admin=unix:/run/admin.sock"}), "--admin: takes host:port only");
}

TEST_F(OptionsTest, SeveralRoutesEachWithItsName) {
  const Options options =
      Good({"--routes=users=127.0.0.1:0,127.0.0.1:11211;pages-2.x=unix:/run/a.sock,[::1]:11311"});
  ASSERT_THAT(options.routes, SizeIs(2));
  EXPECT_EQ(options.routes[0].name, "users");
  EXPECT_EQ(options.routes[0].listen.ToString(), "127.0.0.1:0");
  EXPECT_EQ(options.routes[0].upstream.ToString(), "127.0.0.1:11211");
  EXPECT_EQ(options.routes[1].name, "pages-2.x");
  EXPECT_EQ(options.routes[1].listen.ToString(), "unix:/run/a.sock");
  EXPECT_EQ(options.routes[1].upstream.ToString(), "[::1]:11311");
  EXPECT_EQ(options.routes[1].listen_flag, "--routes");
  EXPECT_EQ(options.routes[1].upstream_flag, "--routes");
}

TEST_F(OptionsTest, AnErrorInOneOfSeveralRoutesSaysWhich) {
  EXPECT_EQ(ErrorOf({"--routes=a=127.0.0.1:1,127.0.0.1:2;b=127.0.0.1:3,127.0.0.1:x"}),
            "--routes: b: '127.0.0.1:x' has no port between 0 and 65535");
  EXPECT_EQ(ErrorOf({"--routes=a=11212,127.0.0.1:2"}),
            "--routes: a: '11212' is not host:port, [v6]:port or unix:/path");
}

TEST_F(OptionsTest, RoutesHaveNamesOfTheirOwn) {
  EXPECT_EQ(ErrorOf({"--routes=a=127.0.0.1:1,127.0.0.1:2;a=127.0.0.1:3,127.0.0.1:4"}),
            "--routes: two routes are named 'a'");
}

TEST_F(OptionsTest, NothingIsLeftBehindASemicolon) {
  EXPECT_THAT(ErrorOf({"--routes=a=127.0.0.1:1,127.0.0.1:2;"}), HasSubstr("--routes: ''"));
}

TEST_F(OptionsTest, ARouteNameIsAShortLabel) {
  const std::string name(65, 'n');
  EXPECT_THAT(ErrorOf({"--routes=" + name + "=127.0.0.1:1,127.0.0.1:2"}), HasSubstr("--routes: "));
  EXPECT_EQ(Good({"--routes=" + name.substr(1) + "=127.0.0.1:1,127.0.0.1:2"}).routes[0].name,
            name.substr(1));
}

TEST_F(OptionsTest, RoutesTakeThePlaceOfTheSinglePair) {
  EXPECT_THAT(ErrorOf({"--routes=a=127.0.0.1:1,127.0.0.1:2", "--listen=127.0.0.1:5"}),
              HasSubstr("--routes: takes the place of --listen and --upstream"));
  EXPECT_THAT(ErrorOf({"--routes=a=127.0.0.1:1,127.0.0.1:2", "--upstream=127.0.0.1:5"}),
              HasSubstr("--routes: takes the place of --listen and --upstream"));
}

TEST_F(OptionsTest, TheHelpShowsEveryFlagWithItsDefault) {
  const std::string help = HelpText();
  int flags = 0;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (!absl::EndsWith(flag->Filename(), "proxy/options.cc")) continue;
    ++flags;
    EXPECT_THAT(help, HasSubstr(absl::StrCat("  --", name, "=", flag->DefaultValue(), "\n      ")));
    EXPECT_THAT(help, HasSubstr(flag->Help()));
  }
  EXPECT_EQ(flags, 16);
  EXPECT_THAT(help, HasSubstr("--flagfile=PATH"));
  EXPECT_THAT(help, HasSubstr("Exit status"));
}

TEST_F(OptionsTest, TheHelpFitsATerminal) {
  const std::string help = HelpText();
  EXPECT_THAT(help, Not(HasSubstr("\t")));
  EXPECT_THAT(help, Not(HasSubstr("build/")));
  EXPECT_EQ(help.back(), '\n');
}

}  // namespace
}  // namespace mcscope
