#include "src/plan/lower.h"

#include <gtest/gtest.h>

#include <array>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

// Three ranks in a row; the middle one passes on what comes from the left.
Spread middle() {
  Spread spread(3);
  spread.recv(0, 0);
  spread.send(2, 0);
  return spread;
}

TEST(Lower, ReadsATreeForwardsAndBackwards) {
  const std::array trees = {middle()};
  EXPECT_EQ(lines_of(lower_broadcast(trees)), Lines{"recv 0/0 -> out[0] -> send 2/0"});
  EXPECT_EQ(lines_of(lower_reduce(trees)), Lines{"recv 2/0 (+) in[0] -> send 0/0"});
  EXPECT_EQ(lines_of(lower_all_reduce(trees)),
            (Lines{"recv 2/0 (+) in[0] -> send 0/0", "--", "recv 0/0 -> out[0] -> send 2/0"}));
}

TEST(Lower, SetsLayouts) {
  const Spread spread = direct_spread(1, 4);
  const Program gather = lower_all_gather(1, spread);
  EXPECT_EQ(gather.in_layout, Layout::kOwn);
  EXPECT_EQ(gather.in_chunks, 1);
  EXPECT_EQ(gather.out_layout, Layout::kBlocks);
  EXPECT_EQ(gather.out_chunks, 4);
  const Program scatter = lower_reduce_scatter(1, spread);
  EXPECT_EQ(scatter.in_layout, Layout::kBlocks);
  EXPECT_EQ(scatter.in_chunks, 4);
  EXPECT_EQ(scatter.out_layout, Layout::kOwn);
  EXPECT_EQ(scatter.out_chunks, 1);
  const Program all = lower_all_reduce(1, spread, spread);
  EXPECT_EQ(all.in_layout, Layout::kSplit);
  EXPECT_EQ(all.out_layout, Layout::kSplit);
  EXPECT_EQ(all.in_chunks, 4);
}

TEST(Lower, TakesStreamsInTurn) {
  Spread spread(2);
  for (int i = 0; i < 3; ++i) spread.send(1, 0);
  EXPECT_EQ(lines_of(lower_all_gather(0, spread)),
            (Lines{"in[0] -> out[0] -> send 1/0", "out[0] -> send 1/1", "out[0] -> send 1/0"}));
  EXPECT_EQ(lines_of(lower_all_gather(0, spread, 3)),
            (Lines{"in[0] -> out[0] -> send 1/0", "out[0] -> send 1/1", "out[0] -> send 1/2"}));
}

TEST(Lower, ReductionNeverStoresToInAndFinishesOnce) {
  for (const Algorithm algorithm :
       {Algorithm::kRing, Algorithm::kPat, Algorithm::kDirect, Algorithm::kHierarchical}) {
    for (Rank rank = 0; rank < 7; ++rank) {
      Result<Program> program = make_program({.collective = Collective::kReduceScatter,
                                              .algorithm = algorithm,
                                              .ranks = 7,
                                              .rank = rank});
      ASSERT_TRUE(program.ok());
      int finished = 0;
      for (const Step& step : program->lanes[0]) {
        EXPECT_NE(step.dst.where(), Buffer::kIn);
        if (step.dst.final_value) ++finished;
      }
      EXPECT_EQ(finished, 1) << name_of(algorithm) << " " << rank;
    }
  }
}

}  // namespace
}  // namespace accl
