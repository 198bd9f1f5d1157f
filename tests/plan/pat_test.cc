#include <gtest/gtest.h>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

ProgramSpec pat(Collective collective) {
  return {.collective = collective, .algorithm = Algorithm::kPat, .ranks = 4};
}

TEST(Pat, AllGatherGoesFarFirst) {
  const Lines expected = {
      "in[0] -> out[0] -> send 2/0", "recv 2/0 -> out[2]", "out[0] -> send 1/0",
      "out[2] -> send 1/1",          "recv 3/0 -> out[3]", "recv 3/1 -> out[1]",
  };
  EXPECT_EQ(lines_of(pat(Collective::kAllGather)), expected);
}

TEST(Pat, ReduceScatterKeepsPartialSumsInScratch) {
  const Lines expected = {
      "in[1] -> send 3/0",
      "in[3] -> send 3/1",
      "recv 1/0 (+) in[2] -> scratch[0]",
      "recv 1/1 (+) in[0] -> out[0]",
      "scratch[0] -> send 2/0",
      "recv 2/0 (+) out[0] -> out[0] final",
  };
  EXPECT_EQ(lines_of(pat(Collective::kReduceScatter)), expected);
}

TEST(Pat, SendsNoMoreAtOnceThanThereAreStreams) {
  for (const int ranks : {16, 17, 64, 100}) {
    int unanswered = 0;
    const Spread spread = pat_spread(3, ranks);
    for (const Move& move : spread.moves()) {
      unanswered += move.send ? 1 : -1;
      EXPECT_LE(unanswered, kPatStreams) << ranks;
    }
    EXPECT_EQ(unanswered, 0) << ranks;
  }
}

}  // namespace
}  // namespace accl
