#include "proxy/io/address.h"

#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mcscope::io {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(absl::string_view text) {
  const absl::StatusOr<Address> address = Address::Parse(text);
  EXPECT_FALSE(address.ok()) << text;
  EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(address.status().message());
}

class WellFormed : public ::testing::TestWithParam<const char*> {};

TEST_P(WellFormed, IsPrintedAsItWasWritten) {
  const absl::StatusOr<Address> address = Address::Parse(GetParam());
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->ToString(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Address, WellFormed,
                         ::testing::Values("127.0.0.1:11211", "localhost:0", "cache.example:65535",
                                           "[::1]:11211", "[fe80::1]:1", "unix:/run/cache.sock",
                                           "unix:/run/with space:and,colon"));

TEST(AddressTest, HostAndPortAreTakenApart) {
  const absl::StatusOr<Address> address = Address::Parse("cache-1:11311");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->host(), "cache-1");
  EXPECT_EQ(address->port(), 11311);
  EXPECT_FALSE(address->is_unix());
}

TEST(AddressTest, BracketsAreNoPartOfTheHost) {
  const absl::StatusOr<Address> address = Address::Parse("[::1]:11311");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->host(), "::1");
  EXPECT_EQ(address->port(), 11311);
}

TEST(AddressTest, AUnixSocketHasAPathOnly) {
  const absl::StatusOr<Address> address = Address::Parse("unix:/run/cache.sock");
  ASSERT_TRUE(address.ok());
  EXPECT_TRUE(address->is_unix());
  EXPECT_EQ(address->path(), "/run/cache.sock");
  EXPECT_EQ(address->host(), "");
}

class NotAnAddress : public ::testing::TestWithParam<const char*> {};

TEST_P(NotAnAddress, IsQuotedWithTheFormsThatAre) {
  EXPECT_EQ(ErrorOf(GetParam()),
            "'" + std::string(GetParam()) + "' is not host:port, [v6]:port or unix:/path");
}

INSTANTIATE_TEST_SUITE_P(Address, NotAnAddress,
                         ::testing::Values("", "11211", "localhost", ":11211", "::1:11211", "[::1]",
                                           "[::1]11211", "[localhost]:11211",
                                           "http://localhost:1"));

class BadPort : public ::testing::TestWithParam<const char*> {};

TEST_P(BadPort, IsRefused) {
  EXPECT_EQ(ErrorOf(GetParam()),
            "'" + std::string(GetParam()) + "' has no port between 0 and 65535");
}

INSTANTIATE_TEST_SUITE_P(Address, BadPort,
                         ::testing::Values("localhost:", "localhost:x", "localhost:65536",
                                           "localhost:-1", "localhost:+1", "localhost: 1",
                                           "localhost:1 ", "localhost:1x", "localhost:0x10",
                                           "[::1]:", "localhost:99999999999999999999"));

TEST(AddressTest, AUnixPathIsAbsolute) {
  EXPECT_THAT(ErrorOf("unix:cache.sock"), HasSubstr("needs an absolute path"));
  EXPECT_THAT(ErrorOf("unix:"), HasSubstr("needs an absolute path"));
}

TEST(AddressTest, AUnixPathFitsIntoASocketAddress) {
  const std::string longest = "/" + std::string(sizeof(sockaddr_un{}.sun_path) - 2, 'p');
  const absl::StatusOr<Address> fits = Address::Parse("unix:" + longest);
  ASSERT_TRUE(fits.ok());
  const absl::StatusOr<SocketAddress> resolved = fits->Resolve();
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->ToString(), "unix:" + longest);
  EXPECT_THAT(ErrorOf("unix:" + longest + "p"), HasSubstr("is longer than the 107 bytes"));
}

class Numeric : public ::testing::TestWithParam<const char*> {};

TEST_P(Numeric, ResolvesToItself) {
  const absl::StatusOr<SocketAddress> resolved = Address::Parse(GetParam())->Resolve();
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->ToString(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Address, Numeric,
                         ::testing::Values("127.0.0.1:11211", "0.0.0.0:0", "[::1]:11211",
                                           "[::]:65535", "unix:/run/cache.sock"));

TEST(AddressTest, TheFamilyIsThatOfWhatItResolvesTo) {
  const SocketAddress v4 = *Address::Parse("127.0.0.1:80")->Resolve();
  EXPECT_EQ(v4.family(), AF_INET);
  EXPECT_EQ(v4.length(), sizeof(sockaddr_in));
  EXPECT_FALSE(v4.is_unix());
  const SocketAddress v6 = *Address::Parse("[::1]:80")->Resolve();
  EXPECT_EQ(v6.family(), AF_INET6);
  EXPECT_EQ(v6.length(), sizeof(sockaddr_in6));
  const SocketAddress path = *Address::Parse("unix:/run/cache.sock")->Resolve();
  EXPECT_TRUE(path.is_unix());
  EXPECT_EQ(path.length(), sizeof(sockaddr_un));
}

TEST(AddressTest, ANameResolves) {
  const absl::StatusOr<SocketAddress> resolved = Address::Parse("localhost:11211")->Resolve();
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_THAT(resolved->ToString(), ::testing::AnyOf("127.0.0.1:11211", "[::1]:11211"));
}

TEST(AddressTest, WhatDoesNotResolveIsNamed) {
  // A label of 64 characters can't be in any name server, and none is asked.
  const std::string name(64, 'n');
  const absl::StatusOr<SocketAddress> resolved = Address::Parse(name + ":1")->Resolve();
  EXPECT_EQ(resolved.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(resolved.status().message()),
              HasSubstr("can't resolve '" + name + "': "));
}

}  // namespace
}  // namespace mcscope::io
