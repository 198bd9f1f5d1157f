#include <gtest/gtest.h>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

struct Node {
  int parent = -1;
  std::vector<int> children;
  bool operator==(const Node&) const = default;
};

Node node_of(const Spread& spread) {
  Node node;
  for (const Move& move : spread.moves()) {
    if (move.send) {
      node.children.push_back(move.peer);
    } else {
      node.parent = move.peer;
    }
  }
  return node;
}

TEST(Tree, AllReduceTurnsRoundInTheRoot) {
  ProgramSpec spec{.algorithm = Algorithm::kTree, .ranks = 3};
  EXPECT_EQ(lines_of(spec), Lines{"recv 2/0 (+) in[0] -> out[0] final -> send 2/0"});
  spec.rank = 1;
  EXPECT_EQ(lines_of(spec), (Lines{"in[0] -> send 2/0", "--", "recv 2/0 -> out[0]"}));
  spec.rank = 2;
  EXPECT_EQ(lines_of(spec),
            (Lines{"recv 1/0 (+) in[0] -> send 0/0", "--", "recv 0/0 -> out[0] -> send 1/0"}));
}

TEST(Tree, ReduceAddsChildrenInOrder) {
  const ProgramSpec spec{.collective = Collective::kReduce,
                         .algorithm = Algorithm::kTree,
                         .ranks = 4,
                         .rank = 3,
                         .root = 1};
  EXPECT_EQ(lines_of(spec),
            (Lines{"recv 0/0 (+) in[0] -> scratch[0]", "recv 2/0 (+) scratch[0] -> send 1/0"}));
}

TEST(DoubleTree, HasALaneForEachTreeAndDirection) {
  const Lines expected = {
      "recv 3/0 (+) in[0] -> scratch[0]",
      "recv 1/0 (+) scratch[0] -> send 0/0",
      "--",
      "recv 0/0 -> out[0] -> send 1/0",
      "out[0] -> send 3/0",
      "--",
      "in[1] -> send 1/1",
      "--",
      "recv 1/1 -> out[1]",
  };
  EXPECT_EQ(lines_of(ProgramSpec{.algorithm = Algorithm::kDoubleTree, .ranks = 4, .rank = 2}),
            expected);
}

// Rows of the well-known trees: rank, then parent and children in either tree.
TEST(DoubleTree, HasTheKnownShape) {
  const std::vector<std::pair<Node, Node>> of_five = {
      {{-1, {4}}, {1, {3}}},  {{2, {}}, {-1, {0}}}, {{4, {1, 3}}, {3, {}}},
      {{2, {}}, {0, {2, 4}}}, {{0, {2}}, {3, {}}},
  };
  const std::vector<std::pair<Node, Node>> of_eight = {
      {{-1, {4}}, {1, {}}},   {{2, {}}, {3, {2, 0}}}, {{4, {1, 3}}, {1, {}}},
      {{2, {}}, {7, {5, 1}}}, {{0, {2, 6}}, {5, {}}}, {{6, {}}, {3, {6, 4}}},
      {{4, {5, 7}}, {5, {}}}, {{6, {}}, {-1, {3}}},
  };
  for (const auto& known : {of_five, of_eight}) {
    const int ranks = static_cast<int>(known.size());
    for (Rank rank = 0; rank < ranks; ++rank) {
      const auto& [first, second] = known[static_cast<size_t>(rank)];
      EXPECT_EQ(node_of(double_tree_spread(rank, ranks, 0)), first) << ranks << " " << rank;
      EXPECT_EQ(node_of(double_tree_spread(rank, ranks, 1)), second) << ranks << " " << rank;
    }
  }
}

TEST(DoubleTree, LoadsNoRankInBothTrees) {
  for (int ranks = 2; ranks <= 70; ++ranks) {
    for (Rank root = 0; root < ranks; root += 5) {
      for (Rank rank = 0; rank < ranks; ++rank) {
        const Node first = node_of(rooted_double_tree_spread(rank, ranks, root, 0));
        const Node second = node_of(rooted_double_tree_spread(rank, ranks, root, 1));
        EXPECT_EQ(first.parent < 0, rank == root);
        EXPECT_LE(first.children.size() + second.children.size(), 3U) << ranks << " " << rank;
        // Two full inner nodes in one rank would make it send twice its share.
        EXPECT_LE(std::min(first.children.size(), second.children.size()), 1U);
      }
    }
  }
}

}  // namespace
}  // namespace accl
