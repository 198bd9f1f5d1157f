#include <gtest/gtest.h>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

TEST(Direct, AllReduceOfTwoIsThreeSteps) {
  ProgramSpec spec{.algorithm = Algorithm::kDirect, .ranks = 2};
  const Lines first = {
      "in[1] -> send 1/0",
      "recv 1/0 (+) in[0] -> out[0] final -> send 1/1",
      "recv 1/1 -> out[1]",
  };
  EXPECT_EQ(lines_of(spec), first);
  spec.rank = 1;
  const Lines second = {
      "in[0] -> send 0/0",
      "recv 0/0 (+) in[1] -> out[1] final -> send 0/1",
      "recv 0/1 -> out[0]",
  };
  EXPECT_EQ(lines_of(spec), second);
}

TEST(Direct, AllReduceSendsEverythingBeforeItWaits) {
  const Lines expected = {
      "in[2] -> send 2/0",
      "in[0] -> send 0/0",
      "recv 0/0 (+) in[1] -> out[1]",
      "recv 2/0 (+) out[1] -> out[1] final -> send 2/1",
      "out[1] -> send 0/1",
      "recv 0/1 -> out[0]",
      "recv 2/1 -> out[2]",
  };
  EXPECT_EQ(lines_of(ProgramSpec{.algorithm = Algorithm::kDirect, .ranks = 3, .rank = 1}),
            expected);
}

TEST(Direct, ReduceScatterNeedsNoScratch) {
  const Lines expected = {
      "in[2] -> send 2/0",
      "in[0] -> send 0/0",
      "recv 0/0 (+) in[1] -> out[0]",
      "recv 2/0 (+) out[0] -> out[0] final",
  };
  EXPECT_EQ(lines_of(ProgramSpec{.collective = Collective::kReduceScatter,
                                 .algorithm = Algorithm::kDirect,
                                 .ranks = 3,
                                 .rank = 1}),
            expected);
}

TEST(Direct, AllGatherHasOneStream) {
  const Lines expected = {
      "in[0] -> out[1] -> send 2/0",
      "out[1] -> send 0/0",
      "recv 0/0 -> out[0]",
      "recv 2/0 -> out[2]",
  };
  EXPECT_EQ(lines_of(ProgramSpec{.collective = Collective::kAllGather,
                                 .algorithm = Algorithm::kDirect,
                                 .ranks = 3,
                                 .rank = 1}),
            expected);
}

}  // namespace
}  // namespace accl
