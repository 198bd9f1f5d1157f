#include <gtest/gtest.h>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

TEST(Flat, AddsInRankOrder) {
  const Lines first = {
      "in[0] -> send 1/0",
      "in[0] -> send 2/0",
      "in[0] (+) recv 1/0 -> scratch[0]",
      "scratch[0] (+) recv 2/0 -> out[0] final",
  };
  EXPECT_EQ(lines_of(flat_all_reduce(0, 3)), first);
  const Lines second = {
      "in[0] -> send 2/0",
      "in[0] -> send 0/0",
      "recv 0/0 (+) in[0] -> scratch[0]",
      "scratch[0] (+) recv 2/0 -> out[0] final",
  };
  EXPECT_EQ(lines_of(flat_all_reduce(1, 3)), second);
  const Lines third = {
      "in[0] -> send 0/0",
      "in[0] -> send 1/0",
      "recv 0/0 -> scratch[0]",
      "scratch[0] (+) recv 1/0 -> send 2/0",  // to itself
      "recv 2/0 (+) in[0] -> out[0] final",
  };
  EXPECT_EQ(lines_of(flat_all_reduce(2, 3)), third);
}

TEST(Flat, ReduceAddsAtTheRootAlone) {
  EXPECT_EQ(lines_of(flat_reduce(0, 3, 1)), Lines{"in[0] -> send 1/0"});
  const Lines root = {
      "recv 0/0 (+) in[0] -> scratch[0]",
      "scratch[0] (+) recv 2/0 -> out[0] final",
  };
  EXPECT_EQ(lines_of(flat_reduce(1, 3, 1)), root);
}

TEST(Flat, BroadcastSendsFromTheRoot) {
  ProgramSpec spec{.collective = Collective::kBroadcast,
                   .algorithm = Algorithm::kFlat,
                   .ranks = 3,
                   .rank = 1,
                   .root = 1};
  EXPECT_EQ(lines_of(spec), (Lines{"in[0] -> out[0] -> send 2/0", "out[0] -> send 0/0"}));
  spec.rank = 2;
  EXPECT_EQ(lines_of(spec), Lines{"recv 1/0 -> out[0]"});
}

}  // namespace
}  // namespace accl
