#include "src/base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "src/base/clock.h"

namespace accl {
namespace {

static_assert(std::uniform_random_bit_generator<Rng>);

TEST(RngTest, SplitmixMatchesThePublishedSequence) {
  // First values for seed 1234567, from the reference implementation's test vectors.
  uint64_t state = 1234567;
  EXPECT_EQ(splitmix64(&state), 6457827717110365317u);
  EXPECT_EQ(splitmix64(&state), 3203168211198807973u);
  EXPECT_EQ(splitmix64(&state), 9817491932198370423u);
}

TEST(RngTest, SameSeedSameSequenceOtherSeedAnother) {
  Rng a(7);
  Rng b(7);
  Rng c(8);
  bool differs = false;
  for (int i = 0; i < 100; i++) {
    const uint64_t value = a.next();
    EXPECT_EQ(value, b.next());
    differs |= value != c.next();
  }
  EXPECT_TRUE(differs);
}

TEST(RngTest, BelowIsEvenAndBounded) {
  Rng rng(1);
  std::array<int, 6> seen{};
  for (int i = 0; i < 60'000; i++) seen.at(rng.below(6))++;
  for (const int count : seen) {
    EXPECT_GT(count, 9'500);
    EXPECT_LT(count, 10'500);
  }
  EXPECT_EQ(rng.below(0), 0u);
  EXPECT_EQ(rng.below(1), 0u);
}

TEST(RngTest, UniformAndChance) {
  Rng rng(2);
  double sum = 0;
  int hits = 0;
  for (int i = 0; i < 10'000; i++) {
    const double value = rng.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
    hits += rng.chance(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
  EXPECT_NEAR(hits, 2'500, 200);
}

TEST(ClockTest, SteadyNeverGoesBackManualStandsStill) {
  const SteadyClock steady;
  uint64_t last = steady.now_ns();
  for (int i = 0; i < 1'000; i++) {
    const uint64_t now = now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
  ManualClock manual;
  const uint64_t before = manual.now_ns();
  EXPECT_EQ(manual.now_ns(), before);
  manual.advance_ns(5 * kNsPerMs);
  EXPECT_EQ(manual.now_ns(), before + 5'000'000);
}

}  // namespace
}  // namespace accl
