#include <cstdint>
#include <string>
#include <vector>

#include "tests/protocol/request_cases.h"
#include "tests/support/binary_packet.h"

namespace mcscope::protocol {
namespace {

using test::Binary;
using test::BinaryPacket;
using namespace test;  // NOLINT: the opcodes

std::string With(uint8_t opcode, const std::string& extras, const std::string& key,
                 const std::string& value = "") {
  BinaryPacket packet;
  packet.opcode = opcode;
  packet.extras = extras;
  packet.key = key;
  packet.value = value;
  return packet.Bytes();
}

std::string WithCas(uint8_t opcode) {
  BinaryPacket packet;
  packet.opcode = opcode;
  packet.extras = std::string(BinaryExtras(opcode), '\0');
  packet.key = "a";
  packet.cas = 12345;
  return packet.Bytes();
}

std::string Claiming(uint8_t opcode, const std::string& key, uint32_t body_size) {
  BinaryPacket packet;
  packet.opcode = opcode;
  packet.extras = std::string(BinaryExtras(opcode), '\0');
  packet.key = key;
  packet.body_size = body_size;
  return packet.Bytes();
}

std::vector<RequestCase> WellFormed() {
  return {
      {"binary fetches",
       {{Binary(kOpGet, "a", "", 7), "get always 00#7"},
        {Binary(kOpGetQ, "a", "", 4294967295), "get perhaps 09#4294967295"},
        {Binary(kOpGetK, "a"), "get always 0c#0 key"},
        {Binary(kOpGetKQ, "a"), "get perhaps 0d#0 key"},
        {Binary(kOpTouch, "a"), "touch always 1c#0"},
        {Binary(kOpGat, "a"), "gat always 1d#0"},
        {Binary(kOpGatQ, "a"), "gat perhaps 1e#0"},
        {Binary(kOpGatK, "a"), "gat always 23#0 key"},
        {Binary(kOpGatKQ, "a"), "gat perhaps 24#0 key"},
        {Binary(kOpGetK, Times('k', 250)), "get always 0c#0 key"},
        {Binary(kOpGet, std::string("a\0\r\n ", 5)), "get always 00#0"}},
       Dialect::kBinary},
      {"binary storage",
       {{Binary(kOpSet, "a", "hello", 7), "set always 01#7"},
        {Binary(kOpSet, "a"), "set always 01#0"},
        {Binary(kOpSet, "a", Times('\x80', 300)), "set always 01#0"},
        {Binary(kOpAdd, "a", "1"), "add always 02#0"},
        {Binary(kOpReplace, "a", "1"), "replace always 03#0"},
        {Binary(kOpAppend, "a", "1"), "append always 0e#0"},
        {Binary(kOpAppend, "a"), "append always 0e#0"},
        {Binary(kOpPrepend, "a", "1"), "prepend always 0f#0"},
        {Binary(kOpSetQ, "a", "1"), "set perhaps 11#0"},
        {Binary(kOpAddQ, "a", "1"), "add perhaps 12#0"},
        {Binary(kOpReplaceQ, "a", "1"), "replace perhaps 13#0"},
        {Binary(kOpAppendQ, "a", "1"), "append perhaps 19#0"},
        {Binary(kOpPrependQ, "a", "1"), "prepend perhaps 1a#0"},
        {WithCas(kOpSet), "cas always 01#0"},
        {WithCas(kOpAdd), "cas always 02#0"},
        {WithCas(kOpReplaceQ), "cas perhaps 13#0"},
        {WithCas(kOpAppend), "append always 0e#0"}},
       Dialect::kBinary},
      {"binary changes",
       {{Binary(kOpDelete, "a"), "delete always 04#0"},
        {Binary(kOpDeleteQ, "a"), "delete perhaps 14#0"},
        {WithCas(kOpDelete), "delete always 04#0"},
        {Binary(kOpIncrement, "n"), "incr always 05#0"},
        {Binary(kOpDecrement, "n"), "decr always 06#0"},
        {Binary(kOpIncrementQ, "n"), "incr perhaps 15#0"},
        {Binary(kOpDecrementQ, "n"), "decr perhaps 16#0"},
        {WithCas(kOpIncrement), "incr always 05#0"},
        {With(kOpIncrement, Times('\xff', 20), "none"), "incr always 05#0"},
        {Binary(kOpFlush), "flush_all always 08#0"},
        {Binary(kOpFlushQ), "flush_all perhaps 18#0"},
        {With(kOpFlush, Times('\0', 4), ""), "flush_all always 08#0"},
        {With(kOpFlushQ, Times('\0', 4), ""), "flush_all perhaps 18#0"}},
       Dialect::kBinary},
  };
}

std::vector<RequestCase> Administration() {
  return {
      {"binary administration",
       {{Binary(kOpNoop, "", "", 9), "noop always 0a#9"},
        {Binary(kOpVersion), "version always 0b#0"},
        {Binary(kOpStat), "stats always 10#0"},
        {Binary(kOpStat, "settings"), "stats always 10#0"},
        {Binary(kOpStat, "items"), "stats always 10#0"},
        {Binary(kOpStat, "slabs"), "stats always 10#0"},
        {Binary(kOpStat, "sizes"), "stats always 10#0"},
        {Binary(kOpStat, "conns"), "stats always 10#0"},
        {Binary(kOpStat, "reset"), "stats always 10#0"},
        {Binary(kOpStat, "bogus"), "stats always 10#0"},
        {Binary(kOpStat, "detail"), "stats always 10#0"},
        {Binary(kOpStat, "detail dump"), "stats always 10#0"},
        {Binary(kOpSaslList), "sasl always 20#0"},
        {Binary(kOpSaslAuth, "PLAIN", std::string("\0u\0p\r\n\x80", 7)), "sasl always 21#0"},
        {Binary(kOpSaslAuth, "PLAIN"), "sasl always 21#0"},
        {Binary(kOpSaslStep, "PLAIN", "x"), "sasl always 22#0"},
        {Binary(kOpQuit), "quit always 07#0"},
        {Binary(kOpQuitQ), "quit never 17#0"}},
       Dialect::kBinary},
  };
}

std::vector<RequestCase> Odd() {
  return {
      // memcached skips the whole body when it has read the extras and the key already.
      {"unknown opcodes",
       {{Binary(kOpVerbosity), "other always refused 1b#0"},
        {Binary(0x1f, "", "", 5), "other always refused 1f#5"},
        {Binary(0xff, "", "value"), "other always refused ff#0"},
        {With(0x70, "ext", "key", "value") + Times('?', 6), "other always refused 70#0"},
        {With(0x70, "", Times('k', 250)) + Times('?', 250), "other always refused 70#0"},
        {Binary(0x80, Times('k', 251)), "other always refused 80#0"}},
       Dialect::kBinary},
      // memcached answers at once, and closes.
      {"binary refusals",
       {{Binary(kOpGet), "get always refused 00#0"},
        {Binary(kOpGetKQ), "get always refused 0d#0"},
        {With(kOpGet, "e", "a"), "get always refused 00#0"},
        {With(kOpGetQ, "", "a", "v"), "get always refused 09#0"},
        {Binary(kOpGet, Times('k', 251)), "get always refused 00#0"},
        {Binary(kOpSet, "", "value"), "set always refused 01#0"},
        {With(kOpSet, "", "a", "value"), "set always refused 01#0"},
        {With(kOpSetQ, "1234567", "a", "value"), "set always refused 11#0"},
        {With(kOpSet, "123456789", "a"), "set always refused 01#0"},
        {Binary(kOpSet, Times('k', 251), "value"), "set always refused 01#0"},
        {With(kOpAppend, "12345678", "a", "value"), "append always refused 0e#0"},
        {Binary(kOpPrependQ, "", "value"), "prepend always refused 1a#0"},
        {With(kOpDelete, "1234", "a"), "delete always refused 04#0"},
        {With(kOpDeleteQ, "", "a", "v"), "delete always refused 14#0"},
        {With(kOpIncrement, "12345678", "n"), "incr always refused 05#0"},
        {With(kOpDecrementQ, Times('x', 20), "n", "v"), "decr always refused 16#0"},
        {With(kOpTouch, "", "a"), "touch always refused 1c#0"},
        {With(kOpGatQ, "1234", ""), "gat always refused 1e#0"},
        {With(kOpFlush, "12345678", ""), "flush_all always refused 08#0"},
        {Binary(kOpFlushQ, "a"), "flush_all always refused 18#0"},
        {Binary(kOpNoop, "a"), "noop always refused 0a#0"},
        {Binary(kOpVersion, "", "v"), "version always refused 0b#0"},
        {With(kOpStat, "1234", "items"), "stats always refused 10#0"},
        {Binary(kOpQuit, "a"), "quit always refused 07#0"},
        {Binary(kOpQuitQ, "", "v"), "quit always refused 17#0"},
        {Binary(kOpSaslList, "a"), "sasl always refused 20#0"},
        {Binary(kOpSaslAuth, "", "v"), "sasl always refused 21#0"},
        {With(kOpSaslStep, "1", "PLAIN"), "sasl always refused 22#0"}},
       Dialect::kBinary},
      {"bodies that are smaller than what is in them",
       {{Claiming(kOpGet, "abc", 2), "get always refused 00#0"},
        {Claiming(kOpGetQ, "abc", 0), "get always refused 09#0"},
        {Claiming(kOpSet, "abc", 10), "set always refused 01#0"},
        {Claiming(kOpSetQ, "a", 0), "set always refused 11#0"},
        {Claiming(0x70, "abc", 1), "other always refused 70#0"}},
       Dialect::kBinary},
      // What a body holds beyond these is the next request.
      {"values where none is missed",
       {{Claiming(kOpTouch, "a", 4 + 1 + 24), "touch always 1c#0"},
        {Binary(kOpNoop), "noop always 0a#0"},
        {Claiming(kOpGatQ, "a", 4 + 1 + 24), "gat perhaps 1e#0"},
        {Binary(kOpNoop), "noop always 0a#0"},
        {Claiming(kOpStat, "reset", 4294967295), "stats always 10#0"},
        {Binary(kOpNoop), "noop always 0a#0"}},
       Dialect::kBinary},
  };
}

}  // namespace

std::vector<RequestCase> BinaryRequestCases() {
  std::vector<RequestCase> all;
  for (const auto& group : {WellFormed(), Administration(), Odd()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace mcscope::protocol
