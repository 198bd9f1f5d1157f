#include "src/plan/fuse.h"

#include <gtest/gtest.h>

#include "tests/plan/interpret.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

Program program_of(Lane lane) {
  Program program;
  program.ports = {{.peer = 1, .stream = 0}, {.peer = 2, .stream = 0}};
  program.lanes.push_back(std::move(lane));
  return program;
}

Lines fused(Program program) {
  fuse(program);
  return lines_of(program);
}

TEST(Fuse, SendsAValueWhileItIsAtHand) {
  EXPECT_EQ(fused(program_of({{.recv = 0, .dst = out(0)}, {.send = 1, .src = out(0)}})),
            Lines{"recv 1/0 -> out[0] -> send 2/0"});
}

TEST(Fuse, KeepsApartWhatIsNotTheSameValue) {
  const Lane other_chunk = {{.recv = 0, .dst = out(0)}, {.send = 1, .src = out(1)}};
  EXPECT_EQ(fused(program_of(other_chunk)).size(), 2U);
  const Lane not_adjacent = {
      {.recv = 0, .dst = out(0)}, {.recv = 0, .dst = out(1)}, {.send = 1, .src = out(0)}};
  EXPECT_EQ(fused(program_of(not_adjacent)).size(), 3U);
  const Lane two_sends = {
      {.recv = 0, .dst = out(0)}, {.send = 0, .src = out(0)}, {.send = 1, .src = out(0)}};
  EXPECT_EQ(fused(program_of(two_sends)).size(), 2U);
}

TEST(Fuse, DropsStoresThatNobodyReads) {
  const Lane lane = {
      {.recv = 0, .dst = scratch(5)},    {.send = 1, .src = scratch(5)},
      {.recv = 0, .dst = out(0)},        {.recv = 0, .src = in(0), .dst = out(0)},
      {.src = in(0), .dst = scratch(4)},
  };
  EXPECT_EQ(fused(program_of(lane)),
            (Lines{"recv 1/0 -> send 2/0", "recv 1/0", "recv 1/0 (+) in[0] -> out[0]"}));
}

TEST(Fuse, KeepsStoresThatAreReadLater) {
  const Lane lane = {
      {.recv = 0, .dst = scratch(3)},
      {.send = 1, .src = scratch(3)},
      {.recv = 0, .src = scratch(3), .dst = out(0)},
  };
  EXPECT_EQ(fused(program_of(lane)),
            (Lines{"recv 1/0 -> scratch[0] -> send 2/0", "recv 1/0 (+) scratch[0] -> out[0]"}));
}

TEST(Fuse, KeepsStoresThatOtherLanesRead) {
  Program program = program_of({{.recv = 0, .dst = scratch(0)}});
  program.lanes.push_back({{.send = 1, .src = scratch(0)}});
  EXPECT_EQ(fused(program), (Lines{"recv 1/0 -> scratch[0]", "--", "scratch[0] -> send 2/0"}));
}

TEST(Fuse, NumbersScratchDenselyAndDropsEmptyLanes) {
  Program program = program_of({{.recv = 0, .dst = scratch(70)},
                                {.recv = 0, .dst = scratch(7)},
                                {.send = 1, .src = scratch(70)},
                                {.send = 1, .src = scratch(7)}});
  program.lanes.push_back({{.src = in(0), .dst = scratch(99)}});
  fuse(program);
  EXPECT_EQ(program.scratch_chunks, 2);
  EXPECT_EQ(program.lanes.size(), 1U);
  EXPECT_EQ(lines_of(program), (Lines{"recv 1/0 -> scratch[0]", "recv 1/0 -> scratch[1]",
                                      "scratch[0] -> send 2/0", "scratch[1] -> send 2/0"}));
}

/// The longest program that does the same: every value that is computed is stored before it is
/// sent, and some are stored for nothing.
Program taken_apart(const Program& program) {
  Program longer = program;
  int next = program.scratch_chunks;
  for (Lane& lane : longer.lanes) {
    Lane steps;
    for (Step step : lane) {
      const bool is_split = step.send >= 0 && (step.dst || step.recv >= 0);
      const Step send{.send = step.send, .src = step.dst ? step.dst : scratch(next)};
      if (is_split && !step.dst) step.dst = scratch(next++);
      if (is_split) step.send = -1;
      steps.push_back(step);
      if (is_split) steps.push_back(send);
      if (step.dst) steps.push_back({.src = step.dst, .dst = scratch(next++)});
    }
    lane = steps;
  }
  longer.scratch_chunks = next;
  // The flags of a store are not those of a load.
  for (Lane& lane : longer.lanes) {
    for (Step& step : lane) step.src.final_value = 0;
  }
  return longer;
}

TEST(Fuse, PutsTogetherWhatWasTakenApart) {
  for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    for (int collective = 0; collective < kCollectives; ++collective) {
      ProgramSpec spec{.collective = static_cast<Collective>(collective),
                       .algorithm = static_cast<Algorithm>(algorithm)};
      if (!supports(spec.algorithm, spec.collective)) continue;
      for (spec.ranks = 1; spec.ranks <= 9; ++spec.ranks) {
        std::string error;
        std::vector<Program> programs = test::programs_of(spec, error);
        std::vector<Program> longer;
        for (const Program& program : programs) longer.push_back(taken_apart(program));
        EXPECT_EQ(test::run_and_check(longer, spec, {}), "") << test::name_of(spec);
        for (size_t i = 0; i < programs.size(); ++i) {
          fuse(longer[i]);
          EXPECT_EQ(lines_of(longer[i]), lines_of(programs[i])) << test::name_of(spec);
          EXPECT_EQ(longer[i], programs[i]) << test::name_of(spec);
        }
      }
    }
  }
}

}  // namespace
}  // namespace accl
