// A reminder comes again and again, and not after its end.
#include "src/bootstrap/reminder.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace accl {
namespace {

TEST(Reminder, ComesAgainUntilItsEnd) {
  const auto reactor = std::move(*Reactor::create());
  std::vector<uint64_t> waited;
  std::optional<Reminder> reminder;
  reminder.emplace(
      *reactor, [&](uint64_t ms) { waited.push_back(ms); },
      Reminder::Times{.first_ms = 5, .later_ms = 10});
  while (waited.size() < 3) reactor->run_once(-1);
  EXPECT_GE(waited[0], 5U);
  EXPECT_GE(waited[1], 15U);
  EXPECT_GE(waited[2], 25U);
  reminder.reset();
  for (int i = 0; i < 5; i++) reactor->run_once(10);
  EXPECT_EQ(waited.size(), 3U);
}

TEST(Reminder, FirstAfterTenSecondsThenEachMinute) {
  const Reminder::Times times;
  EXPECT_EQ(times.first_ms, 10'000U);
  EXPECT_EQ(times.later_ms, 60'000U);
}

}  // namespace
}  // namespace accl
