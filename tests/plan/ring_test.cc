#include <gtest/gtest.h>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

TEST(Ring, AllReduceKeepsItsDirection) {
  const Lines expected = {
      "in[2] -> send 1/0",
      "recv 2/0 (+) in[1] -> send 1/1",
      "recv 2/1 (+) in[0] -> out[0] final -> send 1/0",
      "recv 2/0 -> out[2] -> send 1/1",
      "recv 2/1 -> out[1]",
  };
  EXPECT_EQ(lines_of(ProgramSpec{.algorithm = Algorithm::kRing, .ranks = 3}), expected);
}

TEST(Ring, AllGatherSendsItsBlockAsItCopiesIt) {
  const Lines expected = {
      "in[0] -> out[1] -> send 2/0",
      "recv 0/0 -> out[0] -> send 2/1",
      "recv 0/1 -> out[2]",
  };
  EXPECT_EQ(lines_of(ProgramSpec{.collective = Collective::kAllGather, .ranks = 3, .rank = 1}),
            expected);
}

TEST(Ring, ReduceScatterNeedsNoScratch) {
  const Lines expected = {
      "in[0] -> send 2/0",
      "recv 0/0 (+) in[2] -> send 2/1",
      "recv 0/1 (+) in[1] -> out[0] final",
  };
  EXPECT_EQ(lines_of(ProgramSpec{.collective = Collective::kReduceScatter, .ranks = 3, .rank = 1}),
            expected);
}

TEST(Ring, OfOneRankCopies) {
  EXPECT_EQ(lines_of(ProgramSpec{}), Lines{"in[0] -> out[0] final"});
  EXPECT_EQ(lines_of(ProgramSpec{.collective = Collective::kAllGather}), Lines{"in[0] -> out[0]"});
}

}  // namespace
}  // namespace accl
