#include <gtest/gtest.h>

#include "src/plan/algorithms.h"
#include "tests/plan/steps.h"

namespace accl {
namespace {

using test::Lines;
using test::lines_of;

TEST(AllToAll, SendsCopiesReceives) {
  const Lines expected = {
      "in[2] -> send 2/0",  "in[0] -> send 0/0",  "in[1] -> out[1]",
      "recv 0/0 -> out[0]", "recv 2/0 -> out[2]",
  };
  EXPECT_EQ(lines_of(all_to_all(1, 3)), expected);
  EXPECT_EQ(all_to_all(1, 3).in_layout, Layout::kBlocks);
  EXPECT_EQ(all_to_all(1, 3).out_chunks, 3);
  EXPECT_EQ(lines_of(all_to_all(0, 1)), Lines{"in[0] -> out[0]"});
}

}  // namespace
}  // namespace accl
