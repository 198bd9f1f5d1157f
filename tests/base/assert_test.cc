#include "src/base/assert.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace accl {
namespace {

TEST(AssertTest, HoldsQuietlyAndEvaluatesOnce) {
  int evaluations = 0;
  ACCL_ASSERT(++evaluations == 1, "never printed");
  EXPECT_EQ(evaluations, 1);
}

TEST(AssertDeathTest, PrintsConditionPlaceAndMeaning) {
  const int slots = 3;
  EXPECT_DEATH(ACCL_ASSERT(slots < 3, "a slot beyond the pool"),
               "accl: assertion failed at assert_test.cc:[0-9]+: slots < 3: a slot beyond the pool "
               ".pid [0-9]+.; this is a bug of the library");
}

TEST(AssertDeathTest, RunsTheHookFirst) {
  set_assert_hook([] {
    constexpr const char* kText = "records written";
    ASSERT_GT(write(STDERR_FILENO, kText, std::strlen(kText)), 0);
  });
  EXPECT_DEATH(ACCL_ASSERT(1 == 2), "1 == 2 .pid.*\n.*records written");
  EXPECT_NE(set_assert_hook(nullptr), nullptr);
}

}  // namespace
}  // namespace accl
