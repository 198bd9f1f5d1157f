// Every algorithm does every collective that it claims, for many sizes, roots and ways to run.
#include "src/plan/algorithms.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/plan/interpret.h"

namespace accl {
namespace {

const std::vector<test::Mode> kModes = {
    {.in_place = false, .by_reference = false, .strict = true, .credit = 1, .rounds = 3},
    {.in_place = true, .by_reference = false, .strict = true, .credit = 1, .rounds = 1},
    {.in_place = true, .by_reference = true, .strict = false, .credit = 1, .rounds = 2},
    {.in_place = false, .by_reference = true, .strict = true, .credit = 1, .rounds = 2},
};

std::vector<ProgramSpec> all_pairs(int ranks) {
  std::vector<ProgramSpec> specs;
  for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    for (int collective = 0; collective < kCollectives; ++collective) {
      const ProgramSpec spec{.collective = static_cast<Collective>(collective),
                             .algorithm = static_cast<Algorithm>(algorithm),
                             .ranks = ranks};
      if (supports(spec.algorithm, spec.collective)) specs.push_back(spec);
    }
  }
  return specs;
}

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce;
}

void expect_right(const ProgramSpec& spec, bool in_all_modes = true) {
  std::string error;
  const std::vector<Program> programs = test::programs_of(spec, error);
  ASSERT_EQ(error, "") << test::name_of(spec);
  for (const test::Mode& mode : kModes) {
    if (!in_all_modes && !(mode.by_reference && mode.strict)) continue;
    if (mode.in_place && spec.collective == Collective::kAllToAll) continue;
    EXPECT_EQ(test::run_and_check(programs, spec, mode), "")
        << test::name_of(spec) << " in_place=" << mode.in_place
        << " by_reference=" << mode.by_reference << " strict=" << mode.strict;
  }
}

TEST(Algorithms, AreRightForEverySizeAndRoot) {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    for (ProgramSpec spec : all_pairs(ranks)) {
      const int step = ranks <= 12 ? 1 : 7;
      const int roots = has_root(spec.collective) ? ranks : 1;
      for (spec.root = 0; spec.root < roots; spec.root += step) expect_right(spec, ranks <= 17);
    }
  }
}

TEST(Algorithms, AreRightForALargeSize) {
  for (ProgramSpec spec : all_pairs(130)) {
    if (has_root(spec.collective)) spec.root = 43;
    expect_right(spec, false);
  }
}

TEST(Algorithms, HierarchicalTakesAnyNumberOfGroups) {
  for (const int ranks : {1, 2, 5, 7, 12, 17}) {
    for (ProgramSpec spec : all_pairs(ranks)) {
      if (spec.algorithm != Algorithm::kHierarchical) continue;
      for (spec.groups = 1; spec.groups <= ranks; ++spec.groups) {
        const int roots = has_root(spec.collective) ? ranks : 1;
        for (spec.root = 0; spec.root < roots; spec.root += 3) expect_right(spec);
      }
    }
  }
}

// Of two ranks that exchange their whole vectors in place, each stores where the other still reads,
// whatever the order: by reference, their values have to be held elsewhere.
TEST(Algorithms, NeedNoSpareMemoryButInAnExchangeOfTwo) {
  const test::Mode mode{.in_place = true, .by_reference = true, .strict = true, .rounds = 2};
  for (int ranks = 1; ranks <= 20; ++ranks) {
    for (const ProgramSpec& spec : all_pairs(ranks)) {
      if (spec.collective == Collective::kAllToAll) continue;
      std::string error;
      const std::string outcome = test::run_and_check(test::programs_of(spec, error), spec, mode);
      const bool is_exchange =
          ranks == 2 &&
          (spec.algorithm == Algorithm::kDoubling || spec.algorithm == Algorithm::kFlat) &&
          spec.collective == Collective::kAllReduce;
      EXPECT_EQ(outcome.substr(0, 8), is_exchange ? "deadlock" : "") << test::name_of(spec);
    }
  }
}

TEST(Algorithms, FlatSumsInRankOrderEverywhere) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const ProgramSpec spec{.algorithm = Algorithm::kFlat, .ranks = ranks};
    std::string error;
    const std::vector<Program> programs = test::programs_of(spec, error);
    test::Interpreter machine(programs, spec.collective, {});
    ASSERT_EQ(machine.run(), "");
    test::Value sum = test::input(0, 0, 0);
    for (Rank rank = 1; rank < ranks; ++rank) sum = test::add(sum, test::input(rank, 0, 0));
    sum.finished = 1;
    for (Rank rank = 0; rank < ranks; ++rank) EXPECT_EQ(*machine.out(rank, 0, 0), sum) << rank;
  }
}

TEST(Algorithms, NeedFewStreams) {
  for (ProgramSpec spec : all_pairs(13)) {
    std::string error;
    for (const Program& program : test::programs_of(spec, error)) {
      const int enough = spec.algorithm == Algorithm::kPat ? 6 : 2;
      EXPECT_LE(program.streams(), enough) << test::name_of(spec);
    }
  }
}

TEST(Algorithms, AreNamed) {
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(algorithm_named(name_of(algorithm)), algorithm);
  }
  EXPECT_EQ(algorithm_named("RING"), Algorithm::kRing);
  EXPECT_EQ(algorithm_named("DoubleTree"), Algorithm::kDoubleTree);
  EXPECT_EQ(algorithm_named("double_tree"), Algorithm::kDoubleTree);
  EXPECT_EQ(algorithm_named("rings"), std::nullopt);
  EXPECT_EQ(algorithm_named(""), std::nullopt);
}

std::string error_of(const ProgramSpec& spec) {
  Result<Program> program = make_program(spec);
  if (program.ok()) return "none";
  EXPECT_EQ(program.status().code(), Code::kInvalidArgument);
  return program.status().text();
}

TEST(Algorithms, RefuseWhatIsOutOfRange) {
  EXPECT_EQ(error_of({.ranks = 0}), "a program for 0 ranks: must be 1 to 16383");
  EXPECT_EQ(error_of({.ranks = 16384}), "a program for 16384 ranks: must be 1 to 16383");
  EXPECT_EQ(error_of({.ranks = 4, .rank = 4}), "rank 4 of 4: must be 0 to 3");
  EXPECT_EQ(error_of({.ranks = 4, .rank = -1}), "rank -1 of 4: must be 0 to 3");
  EXPECT_EQ(error_of({.ranks = 4, .root = 4}), "root 4 of 4 ranks: must be 0 to 3");
  EXPECT_EQ(error_of({.algorithm = Algorithm::kHierarchical, .ranks = 4, .groups = 5}),
            "5 groups of 4 ranks: must be 1 to 4, or 0 to choose");
  EXPECT_EQ(error_of({.collective = Collective::kBroadcast, .algorithm = Algorithm::kRing}),
            "algorithm ring cannot do Broadcast");
  EXPECT_EQ(error_of({.collective = Collective::kPointToPoint, .algorithm = Algorithm::kDirect}),
            "algorithm direct cannot do SendRecv");
}

}  // namespace
}  // namespace accl
