#include "src/plan/program.h"

#include <gtest/gtest.h>

namespace accl {
namespace {

TEST(Program, NumbersPortsOnce) {
  Program program;
  EXPECT_EQ(program.streams(), 0);
  EXPECT_EQ(program.port(3, 0), 0);
  EXPECT_EQ(program.port(3, 1), 1);
  EXPECT_EQ(program.port(2, 0), 2);
  EXPECT_EQ(program.port(3, 0), 0);
  EXPECT_EQ(program.port(2, 0), 2);
  EXPECT_EQ(program.ports.size(), 3U);
  EXPECT_EQ(program.streams(), 2);
}

TEST(Program, NamesChunks) {
  EXPECT_EQ(to_string(Loc{}), "nothing");
  EXPECT_EQ(to_string(in(0)), "in[0]");
  EXPECT_EQ(to_string(scratch(12)), "scratch[12]");
  Loc loc = out(3);
  loc.final_value = 1;
  EXPECT_EQ(to_string(loc), "out[3] final");
}

TEST(Program, NamesSteps) {
  Program program;
  const int16_t port = program.port(7, 1);
  Loc left = in(2);
  left.left = 1;
  EXPECT_EQ(to_string({.send = port, .src = in(2)}, program), "in[2] -> send 7/1");
  EXPECT_EQ(to_string({.recv = port, .dst = out(0)}, program), "recv 7/1 -> out[0]");
  EXPECT_EQ(to_string({.recv = port, .src = in(2)}, program), "recv 7/1 (+) in[2]");
  EXPECT_EQ(to_string({.recv = port, .src = left}, program), "in[2] (+) recv 7/1");
  EXPECT_EQ(to_string(Step{}, program), "nothing");
}

TEST(Program, SplitsUnevenlyFromTheFront) {
  const int chunks = 3;
  const size_t total = 8;
  const size_t firsts[] = {0, 3, 6};
  const size_t counts[] = {3, 3, 2};
  for (int chunk = 0; chunk < chunks; ++chunk) {
    EXPECT_EQ(chunk_range(total, chunks, chunk).first, firsts[chunk]);
    EXPECT_EQ(chunk_range(total, chunks, chunk).count, counts[chunk]);
  }
  EXPECT_EQ(chunk_range(2, 3, 2).count, 0U);
}

TEST(Program, PlacesAreEqualWhateverTheFlags) {
  Loc flagged = out(1);
  flagged.final_value = 1;
  EXPECT_TRUE(flagged.same_place(out(1)));
  EXPECT_FALSE(flagged == out(1));
  EXPECT_FALSE(flagged.same_place(out(2)));
  EXPECT_FALSE(flagged.same_place(in(1)));
}

}  // namespace
}  // namespace accl
