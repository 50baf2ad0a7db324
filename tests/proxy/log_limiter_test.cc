#include "proxy/log_limiter.h"

#include "gtest/gtest.h"

namespace mcscope {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(LogLimiterTest, TheFirstLineIsWritten) {
  LogLimiter<1> limiter;
  EXPECT_EQ(limiter.Admit(0, 5 * kSecond), 0u);
}

TEST(LogLimiterTest, ALineASecondTellsHowManyWereLeftOut) {
  LogLimiter<1> limiter;
  int64_t now = 5 * kSecond;
  limiter.Admit(0, now);
  for (int i = 0; i < 41; ++i) EXPECT_EQ(limiter.Admit(0, now + i), absl::nullopt);
  EXPECT_EQ(limiter.Admit(0, now + kSecond - 1), absl::nullopt);
  now += kSecond;
  EXPECT_EQ(limiter.Admit(0, now), 42u);
  EXPECT_EQ(limiter.Admit(0, now + 1), absl::nullopt);
  EXPECT_EQ(limiter.Admit(0, now + kSecond), 1u);
  EXPECT_EQ(limiter.Admit(0, now + 5 * kSecond), 0u);
}

TEST(LogLimiterTest, KeysHaveNothingToDoWithEachOther) {
  LogLimiter<2> limiter;
  EXPECT_EQ(limiter.Admit(0, kSecond), 0u);
  EXPECT_EQ(limiter.Admit(0, kSecond), absl::nullopt);
  EXPECT_EQ(limiter.Admit(1, kSecond), 0u);
}

}  // namespace
}  // namespace mcscope
