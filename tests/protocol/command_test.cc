#include "protocol/command.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace mcscope::protocol {
namespace {

// The last ones have no word in the text protocol.
constexpr size_t kWords = static_cast<size_t>(Command::kNoop);

TEST(CommandTest, EveryWordFindsItsCommand) {
  for (size_t i = 0; i < kWords; ++i) {
    const Command command = static_cast<Command>(i);
    EXPECT_EQ(Info(command).command, command);
    EXPECT_EQ(FindCommand(Info(command).name), command) << Info(command).name;
  }
}

TEST(CommandTest, WordsThatAreAlmostCommandsAreOthers) {
  for (size_t i = 0; i < kWords; ++i) {
    const std::string name(Info(static_cast<Command>(i)).name);
    for (size_t at = 0; at < name.size(); ++at) {
      std::string changed = name;
      changed[at] = static_cast<char>(changed[at] - 'a' + 'A');
      EXPECT_EQ(FindCommand(changed), Command::kOther) << changed;
    }
    EXPECT_EQ(FindCommand(name + "x"), Command::kOther) << name;
  }
  for (const char* word :
       {"noop", "sasl", "", "m", "mx", "ge", "other", "bge", "xxxxxx", "0000000", "getss"}) {
    EXPECT_EQ(FindCommand(word), Command::kOther) << word;
  }
}

TEST(CommandTest, AnAncientAliasIsAGet) { EXPECT_EQ(FindCommand("bget"), Command::kGet); }

TEST(CommandTest, NamesDiffer) {
  std::set<absl::string_view> names;
  for (size_t i = 0; i < kCommandCount; ++i) names.insert(Info(static_cast<Command>(i)).name);
  EXPECT_EQ(names.size(), kCommandCount);
  std::set<absl::string_view> results;
  for (size_t i = 0; i < kResultCount; ++i) results.insert(Name(static_cast<Result>(i)));
  EXPECT_EQ(results.size(), kResultCount);
}

TEST(CommandTest, EveryRequestCanBeAborted) {
  for (size_t i = 0; i < kCommandCount; ++i) {
    EXPECT_TRUE((Info(static_cast<Command>(i)).results >> static_cast<int>(Result::kAborted)) & 1);
  }
}

}  // namespace
}  // namespace mcscope::protocol
