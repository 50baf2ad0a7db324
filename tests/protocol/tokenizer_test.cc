#include "protocol/tokenizer.h"

#include <gtest/gtest.h>

#include <string>

namespace mcscope::protocol {
namespace {

TEST(TokenizerTest, TheTextOfALineLosesOneCarriageReturn) {
  EXPECT_EQ(RequestText("get a\r"), "get a");
  EXPECT_EQ(RequestText("get a\r\r"), "get a\r");
  EXPECT_EQ(RequestText("get a"), "get a");
  EXPECT_EQ(RequestText("\r"), "\r");
  EXPECT_EQ(RequestText(""), "");
}

TEST(TokenizerTest, ANulEndsTheText) {
  EXPECT_EQ(RequestText(absl::string_view("get a\0b\r", 8)), "get a");
  EXPECT_EQ(RequestText(absl::string_view("\0get", 4)), "");
}

TEST(TokenizerTest, OnlySpacesPartTokens) {
  const Tokens tokens = Tokenize("  set\t a  b ");
  ASSERT_EQ(tokens.count, 3u);
  EXPECT_EQ(tokens.at[0], "set\t");
  EXPECT_EQ(tokens.at[1], "a");
  EXPECT_EQ(tokens.last(), "b");
  EXPECT_EQ(tokens.rest, "");
  EXPECT_EQ(Tokenize("").count, 0u);
  EXPECT_EQ(Tokenize("   ").count, 0u);
}

TEST(TokenizerTest, WhatFollowsTheLastTokenItTakesIsTheRest) {
  std::string text;
  for (size_t i = 0; i < Tokens::kMax; ++i) text += "t ";
  EXPECT_EQ(Tokenize(text).rest, "");
  EXPECT_EQ(Tokenize(text + "u v").count, Tokens::kMax);
  EXPECT_EQ(Tokenize(text + "u v").rest, "u v");
}

TEST(TokenizerTest, ReadsSignedNumbers) {
  EXPECT_EQ(ReadSigned("0"), 0);
  EXPECT_EQ(ReadSigned("-5"), -5);
  EXPECT_EQ(ReadSigned("+5"), 5);
  EXPECT_EQ(ReadSigned(" \t\r\v\f5"), 5);
  EXPECT_EQ(ReadSigned("5\tx"), 5);
  EXPECT_EQ(ReadSigned("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(ReadSigned("-9223372036854775808"), INT64_MIN);
  for (const char* bad : {"", "-", "x", "5x", "- 5", "--5", "\t", "9223372036854775808",
                          "-9223372036854775809", "99999999999999999999999", "0x5"}) {
    EXPECT_EQ(ReadSigned(bad), std::nullopt) << bad;
  }
}

TEST(TokenizerTest, ReadsUnsignedNumbers) {
  EXPECT_EQ(ReadUnsigned("0"), 0u);
  EXPECT_EQ(ReadUnsigned("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ReadUnsigned("-18446744073709551615"), 1u);
  EXPECT_EQ(ReadUnsigned("-0"), 0u);
  for (const char* bad : {"", "-1", "18446744073709551616", "9223372036854775808\t-", "x"}) {
    EXPECT_EQ(ReadUnsigned(bad), std::nullopt) << bad;
  }
}

TEST(TokenizerTest, HashesAreNeverZeroAndTellTokensApart) {
  EXPECT_NE(HashToken(""), 0u);
  EXPECT_NE(HashToken("O1"), HashToken("O2"));
  EXPECT_EQ(HashToken("O1"), HashToken(std::string("O1")));
}

}  // namespace
}  // namespace mcscope::protocol
