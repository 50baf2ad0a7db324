// Random sessions, told to memcached directly and through the proxy: commands of every kind, right
// and wrong, cut anywhere, with pauses, ending in a half-close at any byte. Seeded: a failure names
// its seed and prints the shortest session found that still fails.
//
// MCSCOPE_RANDOM_SEEDS=N asks for N sessions per combination, MCSCOPE_FIRST_SEED=S for other ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/integration/programs.h"
#include "tests/support/binary_packet.h"
#include "tests/support/oracle.h"

namespace mcscope::test {
namespace {

constexpr size_t kMaxPieces = 150;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  std::vector<std::string> Commands() {
    std::vector<std::string> commands(static_cast<size_t>(Number(1, 14)));
    for (std::string& command : commands) command = OneCommand();
    return commands;
  }

  // Likewise in the binary protocol. What makes memcached close stands last: the replies before it
  // come or not depending on what one of its reads brings.
  std::vector<std::string> BinaryCommands() {
    std::vector<std::string> commands(static_cast<size_t>(Number(1, 25)));
    for (std::string& command : commands) command = BinaryCommand(/*refused=*/false);
    if (Chance(15)) commands.push_back(BinaryCommand(/*refused=*/true));
    if (Chance(10)) commands.push_back(Binary(Chance(50) ? kOpQuit : kOpQuitQ));
    return commands;
  }

  // Cuts `bytes` into sends, some with a pause behind, and half-closes, mostly at the end.
  Script Fragments(const std::string& bytes) {
    Script script;
    size_t end = bytes.size();
    if (Chance(25)) end = static_cast<size_t>(Number(0, static_cast<int>(end)));
    // Few enough pieces that a second look, with a pause behind each, takes seconds at most.
    const int largest = std::max(Pick(std::vector<int>{1, 7, 40, 300, 3000, 1 << 20}),
                                 static_cast<int>(end / kMaxPieces));
    for (size_t at = 0; at < end;) {
      const size_t piece =
          std::min(end - at, static_cast<size_t>(Number((largest + 2) / 3, largest)));
      script.push_back(Send(bytes.substr(at, piece)));
      at += piece;
      // A session of single bytes needs no pause after each of them.
      const bool pause = largest < 40 ? Chance(5) : Chance(50);
      script.push_back(Pause(absl::Milliseconds(pause ? Number(1, 2) : 0)));
    }
    script.push_back(HalfClose());
    return script;
  }

 private:
  int Number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int percent) { return Number(1, 100) <= percent; }
  template <typename T>
  const T& Pick(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(Number(0, static_cast<int>(choices.size()) - 1))];
  }

  std::string Key() {
    if (Chance(3)) return std::string(static_cast<size_t>(Number(249, 252)), 'k');
    if (Chance(3)) return Pick(std::vector<std::string>{"a\tb", "noreply", "\x80", "q", "0", "é"});
    return absl::StrCat("k", Number(0, 4));
  }
  std::string Value() {
    const int kind = Number(1, 10);
    if (kind == 1) return "";
    if (kind == 2) return std::to_string(Number(0, 1000));
    if (kind == 3) return "\r\nget k0\r\nversion\r\n";
    if (kind == 4) return "\n\n\r\n";
    if (kind == 5) return std::string(static_cast<size_t>(Number(1, 20000)), 'v');
    return std::string(static_cast<size_t>(Number(1, 100)), 'w');
  }
  std::string LineEnd() { return Chance(6) ? "\n" : "\r\n"; }
  // A value's announced length: mostly the right one.
  std::string Length(const std::string& value) {
    if (Chance(92)) return std::to_string(value.size());
    return Pick(std::vector<std::string>{std::to_string(value.size() + 3), "-1", "x", "", "1x",
                                         "1048577", std::to_string(value.size() / 2)});
  }
  std::string Noreply() { return Chance(20) ? " noreply" : ""; }
  std::string Small() {
    if (Chance(93)) return "0";
    return Pick(std::vector<std::string>{"-1", "x", "4294967296", "1e3", "07", "+1"});
  }

  std::string Storage() {
    const std::string word = Pick(std::vector<std::string>{"set", "set", "set", "add", "replace",
                                                           "append", "prepend", "cas"});
    const std::string value = Value();
    return absl::StrCat(word, " ", Key(), " ", Small(), " ", Small(), " ", Length(value),
                        word == "cas" ? absl::StrCat(" ", Number(1, 6)) : "", Noreply(), LineEnd(),
                        value, LineEnd());
  }
  std::string Retrieval() {
    std::vector<std::string> words = {Pick(std::vector<std::string>{"get", "gets"})};
    if (Chance(20)) words = {Pick(std::vector<std::string>{"gat", "gats"}), Small()};
    const int keys = Chance(5) ? Number(50, 600) : Number(0, 4);
    for (int i = 0; i < keys; ++i) words.push_back(Key());
    return absl::StrJoin(words, " ") + LineEnd();
  }
  std::string Other() {
    switch (Number(1, 6)) {
      case 1:
        return absl::StrCat("delete ", Key(), Noreply(), LineEnd());
      case 2:
        return absl::StrCat("incr ", Key(), " ", Chance(90) ? Number(0, 99) : -1, Noreply(),
                            LineEnd());
      case 3:
        return absl::StrCat("decr ", Key(), " ", Number(0, 99), Noreply(), LineEnd());
      case 4:
        return absl::StrCat("touch ", Key(), " ", Small(), Noreply(), LineEnd());
      case 5:
        return Pick(std::vector<std::string>{"version", "flush_all", "flush_all noreply",
                                             "verbosity 1", "verbosity 0 noreply", "stats reset",
                                             "stats bogus", "lru mode flat", "verbosity"}) +
               LineEnd();
      default:
        return Garbage();
    }
  }
  std::string Garbage() {
    using namespace std::string_literals;  // NOLINT: a NUL byte
    if (Chance(4)) return "quit" + LineEnd();
    if (Chance(4)) return std::string(static_cast<size_t>(Number(1900, 2300)), 'x') + LineEnd();
    return Pick(std::vector<std::string>{"", " ", "hello", "get", "set a", "set a 0 0", "incr k0",
                                         "delete", "delete k0 5", "get k0\0k1"s, "\0"s, "\x80\x01",
                                         "GET k0", "getx k0", "mg", "mz k0", "gat 0"}) +
           LineEnd();
  }
  std::string MetaFlags(const std::vector<std::string>& known) {
    std::string flags;
    for (int i = Number(0, 4); i > 0; --i) absl::StrAppend(&flags, " ", Pick(known));
    return flags;
  }
  std::string Meta() {
    switch (Number(1, 6)) {
      case 1:
      case 2: {
        const std::string value = Value();
        return absl::StrCat("ms ", Key(), " ", Length(value),
                            MetaFlags({"q", "F5", "T0", "I", "O12", "k", "c", "C3", "MA", "ME",
                                       "MX", "Mx", "MR", "b"}),
                            LineEnd(), value, LineEnd());
      }
      case 3:
        return absl::StrCat(
            "mg ", Key(), MetaFlags({"v", "v", "q", "k", "f", "s", "c", "O7", "t", "N0", "b", "Z"}),
            LineEnd());
      case 4:
        return absl::StrCat("md ", Key(), MetaFlags({"q", "I", "k", "O1", "C2", "x"}), LineEnd());
      case 5:
        return absl::StrCat("ma ", Key(), MetaFlags({"q", "v", "N0", "J5", "D2", "MD", "Dx", "O4"}),
                            LineEnd());
      default:
        return (Chance(80) ? "mn" : "me nokey") + LineEnd();
    }
  }
  std::string OneCommand() {
    const int kind = Number(1, 100);
    if (kind <= 35) return Storage();
    if (kind <= 60) return Retrieval();
    if (kind <= 80) return Meta();
    return Other();
  }

  std::string BinaryCommand(bool refused) {
    BinaryPacket packet;
    packet.opcode = static_cast<uint8_t>(Chance(97) ? Number(kOpGet, kOpGatKQ) : Number(0x25, 255));
    if (packet.opcode == kOpQuit || packet.opcode == kOpQuitQ || packet.opcode == kOpStat) {
      packet.opcode = kOpGetKQ;
    }
    packet.opaque = static_cast<uint32_t>(Chance(50) ? 0 : Number(0, 1 << 30));
    packet.extras = std::string(BinaryExtras(packet.opcode), '\0');
    if (TakesKey(packet.opcode)) packet.key = Key().substr(0, 250);
    if (TakesValue(packet.opcode)) packet.value = Value();
    if (Chance(5)) packet.cas = static_cast<uint64_t>(Number(1, 20));
    if (refused) packet.extras += "eeeee";
    return packet.Bytes();
  }
  static bool TakesKey(uint8_t opcode) {
    switch (opcode) {
      case kOpVersion:
      case kOpNoop:
      case kOpFlush:
      case kOpFlushQ:
      case kOpSaslList:
      case kOpVerbosity:
      case 0x1f:
        return false;
      default:
        return opcode <= kOpGatKQ;
    }
  }
  static bool TakesValue(uint8_t opcode) {
    return BinaryExtras(opcode) == 8 || opcode == kOpAppend || opcode == kOpPrepend ||
           opcode == kOpAppendQ || opcode == kOpPrependQ || opcode == kOpSaslAuth ||
           opcode == kOpSaslStep || opcode > kOpGatKQ;
  }

  std::mt19937 random_;
};

int FromEnvironment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  int number = otherwise;
  return value != nullptr && absl::SimpleAtoi(value, &number) ? number : otherwise;
}

Script ScriptOf(uint32_t seed, const std::vector<std::string>& commands) {
  return Generator(~seed).Fragments(absl::StrJoin(commands, ""));
}

// Drops commands, then joins sends, as long as the session still fails; gives up after some tries.
class Shrinker {
 public:
  explicit Shrinker(Oracle* oracle) : oracle_(oracle) {}

  Script Shrunk(uint32_t seed, std::vector<std::string> commands) {
    for (size_t i = 0; i < commands.size();) {
      std::vector<std::string> fewer = commands;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
      if (fewer.empty() || !Fails(ScriptOf(seed, fewer))) {
        ++i;
      } else {
        commands = fewer;
      }
    }
    Script script = ScriptOf(seed, commands);
    for (size_t i = 0; i + 2 < script.size();) {
      const Script joined = Joined(script, i);
      if (joined.size() == script.size() || !Fails(joined)) {
        ++i;
      } else {
        script = joined;
      }
    }
    return script;
  }

 private:
  bool Fails(const Script& script) { return tries_-- > 0 && !oracle_->Compare(script).same; }

  // Without the pause behind the send at `i`, which takes in the next send.
  static Script Joined(Script script, size_t i) {
    if (script[i].kind != Step::Kind::kSend || script[i + 2].kind != Step::Kind::kSend) {
      return script;
    }
    script[i].bytes += script[i + 2].bytes;
    const auto at = script.begin() + static_cast<ptrdiff_t>(i);
    script.erase(at + 1, at + 3);
    return script;
  }

  Oracle* oracle_;
  int tries_ = 60;
};

// Compares sessions of the commands that `generate` makes up, in one combination of treatments.
void ExpectSame(const Combination& now, std::vector<std::string> (Generator::*generate)()) {
  Oracle oracle(kMcscope);
  oracle.proxy().Set(now.settings);
  const int seeds = FromEnvironment("MCSCOPE_RANDOM_SEEDS", 40);
  // Each combination has sessions of its own.
  const int own = static_cast<int>(
      std::find_if(AllCombinations().begin(), AllCombinations().end(),
                   [&](const Combination& combination) { return combination.name == now.name; }) -
      AllCombinations().begin());
  const uint32_t first = static_cast<uint32_t>(FromEnvironment("MCSCOPE_FIRST_SEED", own * 100000));
  int second_looks = 0;
  for (uint32_t seed = first; seed < first + static_cast<uint32_t>(seeds); ++seed) {
    Generator generator(seed);
    const std::vector<std::string> commands = (generator.*generate)();
    Oracle::Verdict verdict = oracle.Compare(ScriptOf(seed, commands));
    second_looks += verdict.second_look ? 1 : 0;
    if (verdict.same) continue;
    const Script script = Shrinker(&oracle).Shrunk(seed, commands);
    verdict = oracle.Compare(script);
    FAIL() << "seed " << seed << (verdict.same ? ", this time the same\n" : "\n")
           << ToString(script) << "direct:  " << ToString(verdict.direct)
           << "\nproxied: " << ToString(verdict.proxied);
  }
  // Chunks that meet by chance are rare; a proxy that joins or splits them is not.
  EXPECT_LE(second_looks, 2 + seeds / 10);
  std::cout << seeds << " sessions, " << second_looks << " second looks\n";
}

class RandomPipelines : public testing::TestWithParam<Combination> {};

TEST_P(RandomPipelines, SameBytesAndSameEnd) { ExpectSame(GetParam(), &Generator::Commands); }

TEST_P(RandomPipelines, SameBytesAndSameEndInBinary) {
  ExpectSame(GetParam(), &Generator::BinaryCommands);
}

std::string NameOf(const testing::TestParamInfo<Combination>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, RandomPipelines, testing::ValuesIn(AllCombinations()), NameOf);

}  // namespace
}  // namespace mcscope::test
