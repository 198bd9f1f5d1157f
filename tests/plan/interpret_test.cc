// The interpreter finds what is wrong: a test of the tests that use it.
#include "tests/plan/interpret.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace accl {
namespace {

const ProgramSpec kRing{.algorithm = Algorithm::kRing, .ranks = 4};
const ProgramSpec kFlat{.algorithm = Algorithm::kFlat, .ranks = 4};

std::string with_bug(const ProgramSpec& spec, const test::Mode& mode,
                     const std::function<void(std::vector<Program>&)>& plant) {
  std::string error;
  std::vector<Program> programs = test::programs_of(spec, error);
  plant(programs);
  return test::run_and_check(programs, spec, mode);
}

TEST(Interpret, FindsALostStep) {
  const std::string found = with_bug(kFlat, {}, [](std::vector<Program>& programs) {
    Lane& lane = programs[1].lanes[0];
    lane.erase(lane.begin());
  });
  EXPECT_EQ(found.substr(0, 8), "deadlock") << found;
}

TEST(Interpret, FindsAMissingReduction) {
  const std::string found =
      with_bug(kRing, {}, [](std::vector<Program>& programs) { programs[2].lanes[0][1].src = {}; });
  EXPECT_EQ(found, "out[0] of rank 0 is wrong");
}

TEST(Interpret, FindsAMissingOrDoubledPostOperation) {
  EXPECT_EQ(
      with_bug(kRing, {},
               [](std::vector<Program>& programs) { programs[0].lanes[0][3].dst.final_value = 0; }),
      "out[0] of rank 0 is finished 0 times");
  EXPECT_EQ(
      with_bug(kRing, {},
               [](std::vector<Program>& programs) { programs[0].lanes[0][4].dst.final_value = 1; }),
      "out[3] of rank 0 is finished 2 times");
}

TEST(Interpret, FindsAnotherOrderOfOperands) {
  const std::string found = with_bug(kFlat, {}, [](std::vector<Program>& programs) {
    programs[3].lanes[0].back().src.left ^= 1U;
  });
  EXPECT_EQ(found, "ranks 0 and 3 differ in chunk 0");
}

TEST(Interpret, FindsAStoreInPlaceThatComesTooEarly) {
  const auto use_out_for_sums = [](std::vector<Program>& programs) {
    for (Step& step : programs[2].lanes[0]) {
      if (step.src.where() == Buffer::kScratch)
        step.src.buffer = static_cast<uint32_t>(Buffer::kOut);
      if (step.dst.where() == Buffer::kScratch)
        step.dst.buffer = static_cast<uint32_t>(Buffer::kOut);
    }
  };
  EXPECT_EQ(with_bug(kFlat, {}, use_out_for_sums), "");
  EXPECT_EQ(with_bug(kFlat, {.in_place = true}, use_out_for_sums),
            "rank 2 reads in[0] after it was overwritten");
}

TEST(Interpret, FindsALoadBeforeTheStore) {
  const std::string found = with_bug(kFlat, {}, [](std::vector<Program>& programs) {
    std::swap(programs[0].lanes[0][3], programs[0].lanes[0][4]);
  });
  EXPECT_EQ(found, "rank 0 reads scratch[0] before a store");
}

TEST(Interpret, FindsThatOneStreamIsTooFewForARing) {
  const auto use_one_stream = [](std::vector<Program>& programs) {
    for (Program& program : programs) {
      for (Port& port : program.ports) port.stream = 0;
    }
  };
  EXPECT_EQ(with_bug(kRing, {}, use_one_stream), "");
  const std::string found = with_bug(kRing, {.strict = true}, use_one_stream);
  EXPECT_EQ(found.substr(0, 8), "deadlock") << found;
  EXPECT_EQ(with_bug(kRing, {.strict = true, .credit = 2}, use_one_stream), "");
}

TEST(Interpret, FindsAStoreOverALentChunk) {
  // In place of two buffers by turns, doubling with one: both peers wait for the other's read.
  const ProgramSpec spec{.algorithm = Algorithm::kDoubling, .ranks = 8};
  const auto use_one_buffer = [](std::vector<Program>& programs) {
    for (Program& program : programs) {
      for (Step& step : program.lanes[0]) {
        for (Loc* loc : {&step.src, &step.dst}) {
          if (loc->where() == Buffer::kScratch) loc->chunk = 0;
        }
      }
    }
  };
  EXPECT_EQ(with_bug(spec, {.strict = true}, use_one_buffer), "");
  const std::string found = with_bug(spec, {.by_reference = true, .strict = true}, use_one_buffer);
  EXPECT_EQ(found.substr(0, 8), "deadlock") << found;
}

TEST(Interpret, FindsAMessageLeftOver) {
  const std::string found = with_bug(kFlat, {}, [](std::vector<Program>& programs) {
    programs[0].lanes[0].push_back({.send = 0, .src = in(0)});
  });
  EXPECT_EQ(found, "message left over");
}

}  // namespace
}  // namespace accl
