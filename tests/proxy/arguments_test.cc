#include "proxy/arguments.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace mcscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ArgumentsTest : public ::testing::Test {
 protected:
  // A file of that name with those lines; its path.
  std::string File(const std::string& name, const std::string& text) {
    test::WriteFile(directory_.File(name), text);
    return directory_.File(name);
  }
  static void ExpectGood(const std::vector<std::string>& arguments) {
    const absl::Status status = CheckArguments(arguments);
    EXPECT_TRUE(status.ok()) << status;
  }
  // The one line that is said about the first argument that is wrong.
  static std::string ErrorOf(const std::vector<std::string>& arguments) {
    const absl::Status status = CheckArguments(arguments);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
    return std::string(status.message());
  }

  test::TempDir directory_;
};

TEST_F(ArgumentsTest, NoneAreFine) { ExpectGood({}); }

TEST_F(ArgumentsTest, TakesEveryWayToWriteAFlag) {
  ExpectGood({"--listen=127.0.0.1:0", "-upstream=127.0.0.1:1", "--threads", "4", "-nodelay", "off",
              "--ab=", "--ab_percent", ""});
}

TEST_F(ArgumentsTest, WhatLooksLikeAFlagIsNoValue) {
  EXPECT_EQ(ErrorOf({"--listen", "--upstream=127.0.0.1:1"}), "--listen wants a value");
}

TEST_F(ArgumentsTest, ValuesAreNotItsConcern) { ExpectGood({"--threads=many"}); }

TEST_F(ArgumentsTest, AnUnknownFlagIsQuoted) {
  EXPECT_EQ(ErrorOf({"--threads=2", "--colesce=off"}),
            "'--colesce=off' is no flag of mcscope; see --help");
  EXPECT_EQ(ErrorOf({"--nonodelay"}), "'--nonodelay' is no flag of mcscope; see --help");
  EXPECT_EQ(ErrorOf({"--=x"}), "'--=x' is no flag of mcscope; see --help");
  EXPECT_EQ(ErrorOf({"--"}), "'--' is no flag of mcscope; see --help");
}

TEST_F(ArgumentsTest, WhatIsNoFlagIsQuoted) {
  EXPECT_EQ(ErrorOf({"11212"}), "'11212' is not a flag; see --help");
  EXPECT_EQ(ErrorOf({""}), "'' is not a flag; see --help");
  EXPECT_EQ(ErrorOf({"--threads=2", "4"}), "'4' is not a flag; see --help");
}

TEST_F(ArgumentsTest, AFlagAtTheEndNeedsItsValue) {
  EXPECT_EQ(ErrorOf({"--threads=2", "--listen"}), "--listen wants a value");
}

TEST_F(ArgumentsTest, ReadsAFlagfile) {
  const std::string path = File("flags",
                                "# where apps connect\n\n--listen=127.0.0.1:0\n"
                                "   # indented\n  --threads=2\n--ab=\n");
  ExpectGood({"--flagfile=" + path});
  ExpectGood({"--flagfile", path, "--threads=3"});
}

TEST_F(ArgumentsTest, AFlagfileHasLinesThatEndInNewlinesOnly) {
  const std::string path = File("flags", "--threads=2\r\n--nodelay=off\r\n");
  EXPECT_EQ(ErrorOf({"--flagfile=" + path}),
            absl::StrCat("--flagfile: '", path, "' has lines that end in CR LF instead of LF"));
}

TEST_F(ArgumentsTest, AFlagfileMayLackItsLastNewline) {
  ExpectGood({"--flagfile=" + File("flags", "--threads=2")});
}

TEST_F(ArgumentsTest, AMissingFlagfileIsNamed) {
  const std::string path = directory_.File("none");
  EXPECT_EQ(ErrorOf({"--flagfile=" + path}), "--flagfile: can't read '" + path + "'");
  EXPECT_EQ(ErrorOf({"--flagfile="}), "--flagfile: can't read ''");
}

TEST_F(ArgumentsTest, AFolderIsNoFlagfile) {
  EXPECT_THAT(ErrorOf({"--flagfile=" + directory_.path()}),
              AllOf(StartsWith("--flagfile: "), HasSubstr(directory_.path())));
}

TEST_F(ArgumentsTest, AnUnknownFlagInAFlagfileIsQuotedWithTheFilesName) {
  const std::string path = File("flags", "--threads=2\n--colesce=off\n");
  EXPECT_EQ(ErrorOf({"--flagfile=" + path}),
            "'--colesce=off' is no flag of mcscope; see --help (in '" + path + "')");
}

TEST_F(ArgumentsTest, ALineOfAFlagfileHoldsItsValue) {
  const std::string path = File("flags", "--threads\n4\n");
  EXPECT_EQ(ErrorOf({"--flagfile=" + path}),
            "--flagfile: '" + path + "': '--threads' is not --flag=value");
  const std::string bare = File("bare", "threads=4\n");
  EXPECT_EQ(ErrorOf({"--flagfile=" + bare}),
            "'threads=4' is not a flag; see --help (in '" + bare + "')");
}

TEST_F(ArgumentsTest, FlagfilesNest) {
  const std::string inner = File("inner", "--threads=2\n");
  ExpectGood({"--flagfile=" + File("outer", "--flagfile=" + inner + "\n--nodelay=off\n")});
}

TEST_F(ArgumentsTest, AnErrorInANestedFlagfileNamesTheInnerOne) {
  const std::string inner = File("inner", "--colesce=off\n");
  const std::string outer = File("outer", "--flagfile=" + inner + "\n");
  EXPECT_EQ(ErrorOf({"--flagfile=" + outer}),
            "'--colesce=off' is no flag of mcscope; see --help (in '" + inner + "')");
}

TEST_F(ArgumentsTest, AFlagfileThatReadsItselfIsNamed) {
  const std::string path = directory_.File("flags");
  File("flags", "--flagfile=" + path + "\n");
  EXPECT_EQ(ErrorOf({"--flagfile=" + path}),
            "--flagfile: '" + path + "' is nested more than 8 deep");
}

// abseil brings flags of its own along. Those that make it end the process by itself, in its own
// words, are none of mcscope's.
TEST_F(ArgumentsTest, FlagsThatAreNotInTheHelpAreNoneOfMcscopes) {
  for (const char* flag : {"--fromenv=nosuchflag", "--tryfromenv=nosuchflag", "--undefok=x",
                           "--helpfull=true", "--only_check_args=true"}) {
    EXPECT_THAT(ErrorOf({flag}), HasSubstr(flag)) << flag;
  }
}

}  // namespace
}  // namespace mcscope
