#include "tests/protocol/request_cases.h"

namespace mcscope::protocol {

std::string Times(char c, size_t count) { return std::string(count, c); }

namespace {

const std::string& LongKey() {
  static const std::string& key = *new std::string(251, 'k');
  return key;
}

const std::string& LongestKey() {
  static const std::string& key = *new std::string(250, 'k');
  return key;
}

std::vector<RequestCase> FetchesAndLines() {
  return {
      {"fetches",
       {{"get a\r\n", "get always"},
        {"get a b c\r\n", "get always"},
        {"gets a\r\n", "gets always"},
        {"gat 10 a\r\n", "gat always"},
        {"gats -1 a b\r\n", "gats always"},
        {"gat 1\r\n", "gat always"},
        {"bget a\r\n", "get always"},
        {"  get   a  \r\n", "get always"},
        {"get a\tb\r\n", "get always"},
        {"get a noreply\r\n", "get always"}}},
      {"refused fetches",
       {{"get\r\n", "get always refused"},
        {"get \r\n", "get always refused"},
        {"gat\r\n", "gat always refused"},
        {"gat x a\r\n", "gat always refused"},
        {"gat x " + LongKey() + "\r\n", "gat always refused"},
        {"get " + LongKey() + "\r\n", "get always refused drops"},
        {"get a b " + LongKey() + " c\r\n", "get always refused drops"},
        {"get " + LongestKey() + "\r\n", "get always"},
        {"gats 1 " + LongestKey() + " " + LongKey() + "\r\n", "gats always refused drops"}}},
      {"line ends",
       {{"version\n", "version always"},
        {"version\r\r\n", "other always refused"},
        {"\r\n", "other always refused"},
        {"\n", "other always refused"},
        {"\r\r\n", "other always refused"},
        {"x\r\n", "other always refused"},
        {"set a 0 0 2\nhi\r\n", "set always"},
        {"set a 0 0 2\r\r\nhi\r\n", "set always"}}},
      {"NULs end a line early",
       {{std::string("get a\0b", 7) + "\r\n", "get always"},
        {std::string("set a\0 0 0 1", 12) + "\r\n", "set always refused"},
        {std::string("set a 0 0 1\0 x y z", 18) + "\r\n1\r\n", "set always"},
        {std::string("delete a\0 noreply", 17) + "\r\n", "delete always"},
        {std::string("\0", 1) + "\r\n", "other always refused"}}},
  };
}

std::vector<RequestCase> Storage() {
  return {
      {"storage",
       {{"set a 0 0 2\r\nhi\r\n", "set always"},
        {"add a 0 0 0\r\n\r\n", "add always"},
        {"replace a 5 -1 3\r\n\r\n\n\r\n", "replace always"},
        {"append a 0 0 2\r\nhi\r\n", "append always"},
        {"prepend a 0 0 2\r\nhi\r\n", "prepend always"},
        {"cas a 0 0 2 7\r\nhi\r\n", "cas always"},
        {"set a 0 0 2 noreply\r\nhi\r\n", "set never"},
        {"cas a 0 0 2 7 noreply\r\nhi\r\n", "cas never"},
        {"set a 0 0 2 nonsense\r\nhi\r\n", "set always"},
        {"set a 0 0 3\r\nabcde", "set always refused"},
        {"set a 0 0 1 noreply\r\nabc", "set never refused"},
        {"set a 0 0 2\r\nhi\n\n", "set always refused"},
        {"set " + LongestKey() + " 0 0 2\r\nhi\r\n", "set always"}}},
      {"storage lines that leave their data to run",
       {{"set a x 0 5\r\n", "set always refused"},
        {"hello\r\n", "other always refused"},
        {"set a x 0 5 noreply\r\n", "set never refused"},
        {"set a 0 0 -1\r\n", "set always refused"},
        {"set a 0 0 2x\r\n", "set always refused"},
        {"set a 0 0\r\n", "set always refused"},
        {"set a 0 0 1 noreply x\r\n", "set always refused"},
        {"set a 0 0 noreply\r\n", "set never refused"},
        {"set " + LongKey() + " 0 0 5\r\n", "set always refused"},
        {"cas a 0 0 5\r\n", "cas always refused"},
        {"cas a 0 0 5 noreply\r\n", "cas never refused"},
        {"cas a 0 0 5 x\r\n", "cas always refused"}}},
      {"numbers as memcached reads them",
       {{"set a 0 0 4294967298\r\nhi\r\n", "set always"},
        {"set a 0 0 -4294967294\r\nhi\r\n", "set always"},
        {"set a 0 0 +2\r\nhi\r\n", "set always"},
        {"set a 0 0 \t2\r\nhi\r\n", "set always"},
        {"set a 0 0 2\tx\r\nhi\r\n", "set always"},
        {"set a -18446744073709551615 0 2\r\nhi\r\n", "set always"},
        {"set a -1 0 2\r\n", "set always refused"},
        {"set a 18446744073709551615 0 2\r\nhi\r\n", "set always"},
        {"set a 18446744073709551616 0 2\r\n", "set always refused"},
        {"set a 0 0 2147483646\r\n", "set always refused"},
        {"set a 0 0 9223372036854775807\r\n", "set always refused"},
        {"set a 0 0 9223372036854775808\r\n", "set always refused"},
        {"set a 0 0 \t\r\n", "set always refused"},
        {"set a 0 9223372036854775807 2\r\nhi\r\n", "set always"},
        {"set a 0 9223372036854775808 2\r\n", "set always refused"},
        {"set a 0 -9223372036854775808 2\r\nhi\r\n", "set always"}}},
  };
}

std::vector<RequestCase> Changes() {
  return {
      {"changes",
       {{"delete a\r\n", "delete always"},
        {"delete a 0\r\n", "delete always"},
        {"delete a noreply\r\n", "delete never"},
        {"delete a 0 noreply\r\n", "delete never"},
        {"delete noreply\r\n", "delete always"},
        {"delete a 5\r\n", "delete always refused"},
        {"delete a 5 noreply\r\n", "delete never refused"},
        {"delete a 0 0\r\n", "delete always refused"},
        {"delete a b c noreply\r\n", "delete always refused"},
        {"delete\r\n", "delete always refused"},
        {"delete " + LongKey() + "\r\n", "delete always refused"},
        {"incr a 1\r\n", "incr always"},
        {"decr a 1 noreply\r\n", "decr never"},
        {"incr a noreply\r\n", "incr never refused"},
        {"incr a 1 x\r\n", "incr always"},
        {"incr a -1\r\n", "incr always refused"},
        {"incr a\r\n", "incr always refused"},
        {"touch a 0\r\n", "touch always"},
        {"touch a -1 noreply\r\n", "touch never"},
        {"touch a noreply\r\n", "touch never refused"}}},
  };
}

std::vector<RequestCase> Meta() {
  return {
      {"meta",
       {{"mg a\r\n", "mg always"},
        {"mg a v k Oabc\r\n", "mg always opaque key"},
        {"mg a v q\r\n", "mg perhaps"},
        {"mg a v q k Oabc\r\n", "mg perhaps opaque key"},
        {"mg YQ== b q k\r\n", "mg perhaps"},
        {"mg YQ b q k\r\n", "mg perhaps refused"},
        {"mg a q q\r\n", "mg perhaps refused"},
        {"mg a S\r\n", "mg always refused"},
        {"mg a N\r\n", "mg always refused"},
        {"mg\r\n", "mg always refused"},
        {"mg " + LongKey() + " q\r\n", "mg always refused"},
        {"mg a " + Times('O', 33) + "\r\n", "mg always refused opaque"},
        {"mg a " + Times('O', 32) + "\r\n", "mg always opaque"},
        {"md a q\r\n", "md perhaps"},
        {"md a q C1 I T30\r\n", "md perhaps"},
        {"ma a q MX\r\n", "ma perhaps refused"},
        {"ma a q M-\r\n", "ma perhaps"},
        {"ma a N0 J5 D2 v\r\n", "ma always"},
        {"ma a N0 q k\r\n", "ma perhaps creates key"},
        {"md a N0 q\r\n", "md perhaps"},
        {"mn\r\n", "mn always"},
        {"mn q\r\n", "mn always"},
        {"me a\r\n", "me always"},
        {"me\r\n", "me always refused"},
        {"me YQ== b\r\n", "me always"},
        {"me a b\r\n", "me always refused"},
        {"me a v b\r\n", "me always"},
        {"mx a\r\n", "other always refused"}}},
      {"meta sets",
       {{"ms a 2\r\nhi\r\n", "ms always"},
        {"ms a 2 q\r\nhi\r\n", "ms perhaps"},
        {"ms a 4294967298 q\r\nhi\r\n", "ms perhaps"},
        {"ms a 2 q MX\r\nhi\r\n", "ms perhaps refused"},
        {"ms a 2 bad\r\nhi\r\n", "ms always refused"},
        {"ms a 2 Fx\r\nhi\r\n", "ms always refused"},
        {"ms a 2 q\r\nhiho", "ms perhaps refused"},
        {"ms a S2\r\n", "ms always refused"},
        {"ms a -1 q\r\n", "ms always refused"},
        {"ms a\r\n", "ms always refused"},
        {"ms " + LongKey() + " 5\r\n", "ms always refused"},
        {"ms a 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\r\nhi\r\n", "ms always refused"},
        {"ms a 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\r\n", "ms always refused"}}},
  };
}

std::vector<RequestCase> Administration() {
  return {
      {"administration",
       {{"flush_all\r\n", "flush_all always"},
        {"flush_all noreply\r\n", "flush_all never"},
        {"flush_all 0 noreply\r\n", "flush_all never"},
        {"flush_all abc\r\n", "flush_all always refused"},
        {"flush_all abc noreply\r\n", "flush_all never refused"},
        {"flush_all 0 0 0\r\n", "flush_all always refused"},
        {"verbosity\r\n", "verbosity always refused"},
        {"verbosity 0\r\n", "verbosity always"},
        {"verbosity noreply\r\n", "verbosity never refused"},
        {"verbosity 0 noreply\r\n", "verbosity never"},
        {"cache_memlimit 64\r\n", "cache_memlimit always"},
        {"cache_memlimit 64 noreply\r\n", "cache_memlimit never"},
        {"lru mode flat\r\n", "lru always"},
        {"lru mode flat noreply\r\n", "lru never"},
        {"lru noreply\r\n", "lru never"},
        {"slabs automove 0\r\n", "slabs always"},
        {"slabs automove 0 noreply\r\n", "slabs never"},
        {"slabs reassign 1 noreply\r\n", "slabs always"},
        {"slabs noreply\r\n", "slabs always"},
        {"lru_crawler crawl all\r\n", "lru_crawler always"},
        {"lru_crawler metadump\r\n", "lru_crawler always"},
        {"lru_crawler enable noreply\r\n", "lru_crawler always"},
        {"stats\r\n", "stats always"},
        {"stats detail dump\r\n", "stats always"},
        {"stats noreply\r\n", "stats always"},
        {"shutdown\r\n", "shutdown always"},
        {"misbehave\r\n", "misbehave always refused"},
        {"refresh_certs\r\n", "refresh_certs always"},
        {"refresh_certs noreply\r\n", "refresh_certs perhaps"},
        {"extstore item_age 5\r\n", "other always"},
        {"extstore item_age 5 noreply\r\n", "other never"},
        {"watch bogus\r\n", "watch always refused"},
        {"watch fetchers noreply\r\n", "watch never refused"},
        {"quit\r\n", "quit never"},
        {"quit now\r\n", "quit never"}}},
      {"the last of at most 23 tokens counts",
       {{"lru mode x x x x x x x x x x x x x x x x x x x x noreply\r\n", "lru never"},
        {"lru mode x x x x x x x x x x x x x x x x x x x x x noreply\r\n", "lru always"}}},
      {"unknown words",
       {{"hello world\r\n", "other always refused"},
        {"GET a\r\n", "other always refused"},
        {"get\ta\r\n", "other always refused"},
        {"hello noreply\r\n", "other always refused"},
        {"GET / HTTP/1.1\r\n", "other never refused"},
        {"git / HTTP/1.1\r\n", "other always refused"},
        {"\x80\x01\x02\r\n", "other always refused"}}},
  };
}

}  // namespace

std::vector<RequestCase> RequestCases() {
  std::vector<RequestCase> all;
  for (const auto& group : {FetchesAndLines(), Storage(), Changes(), Meta(), Administration()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace mcscope::protocol
