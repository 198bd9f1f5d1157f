#include <gtest/gtest.h>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

TEST(PointToPoint, HasALanePerPeerAndDirection) {
  const std::vector<Transfer> transfers = {
      {.peer = 1, .send = true},
      {.peer = 2, .send = false},
      {.peer = 1, .send = true},
      {.peer = 1, .send = false},
  };
  const Program program = point_to_point(transfers);
  const Lines expected = {
      "in[0] -> send 1/0",  "in[2] -> send 1/0", "--", "recv 2/0 -> out[1]", "--",
      "recv 1/0 -> out[3]",
  };
  EXPECT_EQ(lines_of(program), expected);
  EXPECT_EQ(program.in_layout, Layout::kOwn);
  EXPECT_EQ(program.in_chunks, 4);
  EXPECT_EQ(program.streams(), 1);
}

TEST(PointToPoint, ToOneselfIsTwoLanes) {
  const std::vector<Transfer> transfers = {{.peer = 0, .send = false}, {.peer = 0, .send = true}};
  EXPECT_EQ(lines_of(point_to_point(transfers)),
            (Lines{"recv 0/0 -> out[0]", "--", "in[1] -> send 0/0"}));
}

TEST(PointToPoint, ReusesAProgram) {
  const std::vector<Transfer> many = {{.peer = 1, .send = true}, {.peer = 2, .send = true}};
  const std::vector<Transfer> one = {{.peer = 3, .send = false}};
  Program program;
  point_to_point(many, program);
  point_to_point(one, program);
  EXPECT_EQ(program.ports, (std::vector<Port>{{.peer = 3}}));
  EXPECT_EQ(program.in_chunks, 1);
  ASSERT_FALSE(program.lanes.empty());
  EXPECT_EQ(program.lanes[0], (Lane{{.recv = 0, .dst = out(0)}}));
  for (size_t i = 1; i < program.lanes.size(); ++i) EXPECT_TRUE(program.lanes[i].empty());
}

}  // namespace
}  // namespace accl
