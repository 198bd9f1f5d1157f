#include <gtest/gtest.h>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

ProgramSpec hierarchical(Collective collective, int ranks, Rank rank) {
  return {.collective = collective,
          .algorithm = Algorithm::kHierarchical,
          .ranks = ranks,
          .rank = rank};
}

TEST(Hierarchical, AllGatherGoesBetweenGroupsFirst) {
  const Lines expected = {
      "in[0] -> out[1] -> send 3/0", "recv 3/0 -> out[3]", "out[1] -> send 0/0",
      "recv 0/0 -> out[0]",          "out[3] -> send 0/1", "recv 0/1 -> out[2]",
  };
  EXPECT_EQ(lines_of(hierarchical(Collective::kAllGather, 4, 1)), expected);
}

TEST(Hierarchical, ReduceScatterGoesBetweenGroupsLast) {
  const Lines expected = {
      "in[2] -> send 0/0",      "recv 0/0 (+) in[3] -> scratch[0]",
      "in[0] -> send 0/1",      "recv 0/1 (+) in[1] -> out[0]",
      "scratch[0] -> send 3/0", "recv 3/0 (+) out[0] -> out[0] final",
  };
  EXPECT_EQ(lines_of(hierarchical(Collective::kReduceScatter, 4, 1)), expected);
}

TEST(Hierarchical, BroadcastHasALeaderPerGroup) {
  ProgramSpec spec = hierarchical(Collective::kBroadcast, 6, 4);
  spec.root = 4;  // in the middle of the second group
  const Lines root = {"in[0] -> out[0] -> send 1/0", "out[0] -> send 5/0", "out[0] -> send 3/0"};
  EXPECT_EQ(lines_of(spec), root);
  spec.rank = 1;
  EXPECT_EQ(lines_of(spec), (Lines{"recv 4/0 -> out[0] -> send 2/0", "out[0] -> send 0/0"}));
  spec.rank = 2;
  EXPECT_EQ(lines_of(spec), Lines{"recv 1/0 -> out[0]"});
}

TEST(Hierarchical, CrossesBetweenGroupsOncePerChunkAndGroup) {
  const int ranks = 12;
  const int groups = 3;
  std::vector<int> crossings(static_cast<size_t>(ranks));
  for (Rank rank = 0; rank < ranks; ++rank) {
    const Spread spread = hierarchical_spread(rank, ranks, groups);
    for (const Move& move : spread.moves()) {
      if (move.send && move.peer / 4 != rank / 4) ++crossings[static_cast<size_t>(move.chunk)];
    }
  }
  EXPECT_EQ(crossings, std::vector<int>(static_cast<size_t>(ranks), groups - 1));
}

TEST(Hierarchical, ChoosesEqualGroupsNearTheSquareRoot) {
  const std::vector<std::pair<int, int>> expected = {{1, 1},  {2, 1},  {3, 1},  {4, 2},  {5, 2},
                                                     {8, 2},  {9, 3},  {12, 3}, {16, 4}, {17, 4},
                                                     {32, 4}, {33, 3}, {64, 8}};
  for (const auto& [ranks, groups] : expected) EXPECT_EQ(default_groups(ranks), groups) << ranks;
}

}  // namespace
}  // namespace accl
