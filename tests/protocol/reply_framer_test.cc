#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/protocol/framing.h"
#include "tests/protocol/request_cases.h"
#include "tests/support/binary_packet.h"

namespace mcscope::protocol {
namespace {

// Replies one after the other, and what each is (as Describe() puts it).
struct ReplyCase {
  const char* name;
  std::vector<std::pair<std::string, std::string>> replies;
};

std::vector<ReplyCase> ReplyCases() {
  return {
      {"words",
       {{"STORED\r\n", "stored"},
        {"NOT_STORED\r\n", "not_stored"},
        {"EXISTS\r\n", "exists"},
        {"NOT_FOUND\r\n", "not_found"},
        {"DELETED\r\n", "deleted"},
        {"TOUCHED\r\n", "touched"},
        {"OK\r\n", "ok"},
        {"RESET\r\n", "reset"},
        {"VERSION 1.6.18\r\n", "version"},
        {"18446744073709551615\r\n", "number"},
        {"0\r\n", "number"}}},
      {"values",
       {{"END\r\n", "end"},
        {"VALUE a 0 2\r\nhi\r\nEND\r\n", "values"},
        {"VALUE a 0 0\r\n\r\nEND\r\n", "values"},
        {"VALUE a 0 2 17\r\nhi\r\nVALUE b 4294967295 5\r\nEND\r\n\r\nEND\r\n", "values"},
        {"VALUE a\tb\r 0 2\r\nhi\r\nEND\r\n", "values"},
        {"VALUE a 0 2\r\nhi\r\nSERVER_ERROR out of memory\r\n", "error server"},
        {"VALUE a 0 9000\r\n" + Times('\n', 9000) + "\r\nEND\r\n", "values"}}},
      {"errors",
       {{"ERROR\r\n", "error generic"},
        {"ERROR: shutdown not enabled\r\n", "error generic"},
        {"ERROR cannot pipeline other commands before watch\r\n", "error generic"},
        {"Error TLS not enabled\r\n", "error generic"},
        {"CLIENT_ERROR bad data chunk\r\n", "error client"},
        {"SERVER_ERROR object too large for cache\r\n", "error too_large"},
        {"SERVER_ERROR out of memory storing object\r\n", "error server"}}},
      {"statistics",
       {{"STAT pid 1\r\nSTAT x END\r\nEND\r\n", "stats"},
        {"ITEM a [2 b; 0 s]\r\nITEM a\nb [1 b; 0 s]\r\nEND\r\n", "stats"},
        {"PREFIX a get 1 hit 1 set 0 del 0\r\nEND\r\n", "stats"}}},
      {"meta",
       {{"HD\r\n", "hd"},
        {"EN\r\n", "en"},
        {"NS\r\n", "ns"},
        {"EX Oabc\r\n", "ex opaque"},
        {"NF kabc\r\n", "nf key"},
        {"MN\r\n", "mn"},
        {"HD s5 t-1 kabc O12 W\r\n", "hd opaque key"},
        {"VA 2\r\nhi\r\n", "va"},
        {"VA 0 f5\r\n\r\n", "va"},
        {"VA 4 kabc Oxy\r\n\r\n\r\n\r\n", "va opaque key"},
        {"HD kYQ== b O1\r\n", "hd"},
        {"HD O1 kYQ== b\r\n", "hd opaque"},
        {"ME a exp=-1 la=0 cas=1 fetch=no cls=1 size=62\r\n", "me"}}},
      {"keys with newlines in meta replies",
       {{"HD ka\nb W\r\n", "hd key"},
        {"HD k\n\n\n\r\n", "hd key"},
        {"ME \nEND\n exp=-1 la=0\r\n", "me"},
        {"VA 2 ka\nb\r\nhi\r\n", "va key"}}},
      {"lines that end with a bare newline",
       {{"STORED\n", "stored"}, {"VALUE a 0 2\nhi\r\nEND\n", "values"}, {"HD\n", "hd"}}},
      {"lines of other kinds",
       {{"BUSY currently processing crawler request\r\n", "other"},
        {"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n", "other"},
        {"\r\n", "other"},
        {"HDX\r\n", "other"},
        {"-1\r\n", "other"},
        {"END \r\n", "other"},
        {Times('x', 8190) + "\r\n", "other"}}},
  };
}

using namespace test;  // NOLINT: the opcodes

std::string Packet(uint8_t opcode, uint16_t status, const std::string& extras = "",
                   const std::string& key = "", const std::string& value = "",
                   uint32_t opaque = 0) {
  BinaryPacket packet;
  packet.magic = kBinaryReplyMagic;
  packet.opcode = opcode;
  packet.status = status;
  packet.extras = extras;
  packet.key = key;
  packet.value = value;
  packet.opaque = opaque;
  return packet.Bytes();
}

std::vector<ReplyCase> BinaryReplyCases() {
  const std::string flags(4, '\0');
  return {
      {"binary successes",
       {{Packet(kOpGet, 0, flags, "", "value", 7), "values 00#7"},
        {Packet(kOpGetQ, 0, flags), "values 09#0"},
        {Packet(kOpGetK, 0, flags, "key", "value"), "values 0c#0 key"},
        {Packet(kOpGatKQ, 0, flags, Times('k', 250), Times('v', 600)), "values 24#0 key"},
        {Packet(kOpGat, 0, flags, "", "v"), "values 1d#0"},
        {Packet(kOpSet, 0), "stored 01#0"},
        {Packet(kOpAddQ, 0), "stored 12#0"},
        {Packet(kOpAppend, 0), "stored 0e#0"},
        {Packet(kOpDelete, 0), "deleted 04#0"},
        {Packet(kOpIncrement, 0, "", "", BigEndian(5, 8)), "number 05#0"},
        {Packet(kOpTouch, 0, flags), "touched 1c#0"},
        {Packet(kOpNoop, 0, "", "", "", 4294967295), "ok 0a#4294967295"},
        {Packet(kOpQuit, 0), "ok 07#0"},
        {Packet(kOpFlush, 0), "ok 08#0"},
        {Packet(kOpVersion, 0, "", "", "1.6.18"), "version 0b#0"},
        {Packet(kOpSaslList, 0, "", "", "PLAIN"), "ok 20#0"},
        {Packet(kOpSaslAuth, 0x21, "", "", "challenge"), "ok 21#0"}}},
      {"binary refusals and errors",
       {{Packet(kOpGet, 1, "", "", "Not found"), "end 00#0"},
        {Packet(kOpGetK, 1, "", "key"), "end 0c#0 key"},
        {Packet(kOpGat, 1), "end 1d#0"},
        {Packet(kOpTouch, 1), "not_found 1c#0"},
        {Packet(kOpDelete, 1), "not_found 04#0"},
        {Packet(kOpReplace, 1), "not_found 03#0"},
        {Packet(kOpAdd, 2), "exists 02#0"},
        {Packet(kOpAppend, 5), "not_stored 0e#0"},
        {Packet(kOpSetQ, 3), "error too_large 11#0"},
        {Packet(kOpGet, 4), "error generic 00#0"},
        {Packet(kOpIncrement, 6), "error client 05#0"},
        {Packet(kOpGet, 0x20), "error server 00#0"},
        {Packet(kOpGet, 0x21), "error server 00#0"},
        {Packet(0x70, 0x81), "error generic 70#0"},
        {Packet(kOpSet, 0x82), "error server 01#0"},
        {Packet(kOpGet, 0x86), "error server 00#0"},
        {Packet(kOpStat, 1, "", "", "Not found"), "error client 10#0"}}},
      {"binary statistics",
       {{Packet(kOpStat, 0), "stats 10#0"},
        {Packet(kOpStat, 0, "", "pid", "1", 5) + Packet(kOpStat, 0, "", "empty", "", 5) +
             Packet(kOpStat, 0, "", "", "", 5),
         "stats 10#5"},
        {Packet(kOpStat, 0), "stats 10#0"},
        {Packet(kOpStat, 0, "", "pid", "1") + Packet(kOpStat, 0x82), "error server 10#0"},
        {Packet(kOpNoop, 0), "ok 0a#0"}}},
  };
}

std::string StreamOf(const ReplyCase& c) {
  std::string stream;
  for (const auto& reply : c.replies) stream += reply.first;
  return stream;
}

std::string ExpectedOf(const ReplyCase& c) {
  std::string expected;
  for (const auto& reply : c.replies) {
    absl::StrAppend(&expected, reply.second, " <", Escape(reply.first), ">\n");
  }
  return expected;
}

class ReplyFramerCases : public testing::TestWithParam<ReplyCase> {};

TEST_P(ReplyFramerCases, AreFramedWhole) {
  EXPECT_EQ(Describe(FrameReplies(StreamOf(GetParam()))), ExpectedOf(GetParam()));
}

TEST_P(ReplyFramerCases, AreFramedByteByByte) {
  const std::string stream = StreamOf(GetParam());
  EXPECT_EQ(Describe(FrameReplies(stream, EveryByte(stream.size()))), ExpectedOf(GetParam()));
}

TEST_P(ReplyFramerCases, AreFramedWhereverTheyAreSplit) {
  const std::string stream = StreamOf(GetParam());
  const std::string expected = ExpectedOf(GetParam());
  for (size_t cut = 1; cut < stream.size(); ++cut) {
    ASSERT_EQ(Describe(FrameReplies(stream, {cut})), expected) << "split at " << cut;
  }
}

TEST_P(ReplyFramerCases, AreFramedAloneAndWithBytesBehind) {
  for (const auto& reply : GetParam().replies) {
    for (const char* behind : {"", "S", "VALUE a 0 100\r\nx", "\x81\x0b"}) {
      const Framed<Reply> framed = FrameReplies(reply.first + behind);
      ASSERT_EQ(framed.frames.size(), 1u) << Escape(reply.first);
      EXPECT_EQ(Describe(framed.frames[0].content), reply.second) << Escape(reply.first);
      EXPECT_EQ(framed.frames[0].bytes, reply.first);
      EXPECT_EQ(framed.rest, behind);
    }
  }
}

std::string NameOf(const testing::TestParamInfo<ReplyCase>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ReplyFramerCases, testing::ValuesIn(ReplyCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Binary, ReplyFramerCases, testing::ValuesIn(BinaryReplyCases()), NameOf);

std::string KeyBeyondBody() {
  BinaryPacket packet;
  packet.magic = kBinaryReplyMagic;
  packet.extras = "extra";
  packet.key = "key";
  packet.body_size = 7;
  return packet.Bytes();
}

TEST(ReplyFramerTest, WhatCanNotBeAReplyIsOpaque) {
  for (const std::string& stream :
       {std::string("VALUE a 0\r\n"), std::string("VALUE a 0 x\r\n"),
        std::string("VALUE a 0 -1\r\n"), std::string("VALUE a 0 99999999999999999999\r\n"),
        std::string("VALUE a 0 2\r\nhiho\r\n"), std::string("VALUE a 0 2\r\nhi\r\nSTORED\r\n"),
        std::string("VA x\r\n"), std::string("VA \r\n"), std::string("VA\r\n"),
        std::string("VA 2\r\nhiho"), Times('x', 8193) + "\n", Times('x', 9000),
        // Another magic; a body too small for its key; statistics that break off.
        Packet(kOpNoop, 0) + Binary(kOpNoop), Packet(kOpNoop, 0) + "ERROR\r\n", KeyBeyondBody(),
        Packet(kOpStat, 0, "", "pid", "1") + Packet(kOpNoop, 0),
        Packet(kOpStat, 0, "", "pid", "1") + Packet(kOpStat, 0, "", "pid", "1", 2)}) {
    for (const Cuts& cuts : {Cuts{}, EveryByte(stream.size())}) {
      const Framed<Reply> framed = FrameReplies(stream, cuts);
      EXPECT_TRUE(framed.opaque) << Escape(stream);
      EXPECT_EQ(framed.Joined(), stream);
    }
  }
}

TEST(ReplyFramerTest, AnAnnouncedLengthReservesNothing) {
  ReplyFramer framer;
  EXPECT_EQ(framer.Next("VALUE a 0 4294967295\r\nx").kind, StepKind::kPartial);
  EXPECT_TRUE(framer.mid_reply());
  EXPECT_LE(sizeof(framer), 64u);
  BinaryPacket packet;
  packet.magic = kBinaryReplyMagic;
  packet.extras = std::string(4, '\0');
  packet.body_size = 4294967295;
  ReplyFramer binary;
  EXPECT_EQ(binary.Next(packet.Bytes()).kind, StepKind::kPartial);
  EXPECT_TRUE(binary.mid_reply());
}

TEST(ReplyFramerTest, HashesMatchThoseOfTheRequest) {
  const Request request = FrameRequests("mg abc q k Oxyz v\r\n").frames[0].content;
  const Reply same = FrameReplies("VA 2 kabc Oxyz\r\nhi\r\n").frames[0].content;
  const Reply other_key = FrameReplies("VA 2 kabd Oxyz\r\nhi\r\n").frames[0].content;
  const Reply other_opaque = FrameReplies("VA 2 kabc Oxy\r\nhi\r\n").frames[0].content;
  EXPECT_TRUE(RepeatsWhatWasAsked(request, same));
  EXPECT_FALSE(RepeatsWhatWasAsked(request, other_key));
  EXPECT_FALSE(RepeatsWhatWasAsked(request, other_opaque));
}

}  // namespace
}  // namespace mcscope::protocol
