#include <gtest/gtest.h>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

TEST(Doubling, OfTwoIsTwoStepsWithTheSameExpression) {
  EXPECT_EQ(lines_of(doubling_all_reduce(0, 2)),
            (Lines{"in[0] -> send 1/0", "in[0] (+) recv 1/0 -> out[0] final"}));
  EXPECT_EQ(lines_of(doubling_all_reduce(1, 2)),
            (Lines{"in[0] -> send 0/0", "recv 0/0 (+) in[0] -> out[0] final"}));
}

TEST(Doubling, ExtraRanksAreAddedFirstAndServedLast) {
  const Lines partner = {
      "in[0] (+) recv 4/0 -> scratch[0] -> send 1/0",
      "scratch[0] (+) recv 1/0 -> scratch[1] -> send 2/0",
      "scratch[1] (+) recv 2/0 -> out[0] final -> send 4/0",
  };
  EXPECT_EQ(lines_of(doubling_all_reduce(0, 5)), partner);
  EXPECT_EQ(lines_of(doubling_all_reduce(4, 5)),
            (Lines{"in[0] -> send 0/0", "recv 0/0 -> out[0]"}));
}

TEST(Doubling, NeverStoresWhereAPeerMayStillRead) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      const Program program = doubling_all_reduce(rank, ranks);
      Loc before;
      for (const Step& step : program.lanes[0]) {
        if (!step.dst) continue;
        EXPECT_FALSE(step.dst.same_place(before)) << rank << " of " << ranks;
        before = step.dst;
      }
    }
  }
}

}  // namespace
}  // namespace accl
