#include <gtest/gtest.h>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

ProgramSpec chain(Collective collective, Rank rank) {
  return {.collective = collective,
          .algorithm = Algorithm::kChain,
          .ranks = 3,
          .rank = rank,
          .root = 2};
}

TEST(Chain, BroadcastGoesUpFromTheRoot) {
  const Collective c = Collective::kBroadcast;
  EXPECT_EQ(lines_of(chain(c, 2)), Lines{"in[0] -> out[0] -> send 0/0"});
  EXPECT_EQ(lines_of(chain(c, 0)), Lines{"recv 2/0 -> out[0] -> send 1/0"});
  EXPECT_EQ(lines_of(chain(c, 1)), Lines{"recv 0/0 -> out[0]"});
}

TEST(Chain, ReduceComesDownToTheRoot) {
  const Collective c = Collective::kReduce;
  EXPECT_EQ(lines_of(chain(c, 1)), Lines{"in[0] -> send 0/0"});
  EXPECT_EQ(lines_of(chain(c, 0)), Lines{"recv 1/0 (+) in[0] -> send 2/0"});
  EXPECT_EQ(lines_of(chain(c, 2)), Lines{"recv 0/0 (+) in[0] -> out[0] final"});
}

}  // namespace
}  // namespace accl
