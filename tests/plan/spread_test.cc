#include "src/plan/spread.h"

#include <gtest/gtest.h>

namespace accl {
namespace {

TEST(Spread, WrapsPeersAndChunks) {
  Spread spread(4);
  spread.send(4, -1);
  spread.recv(-3, 9);
  ASSERT_EQ(spread.moves().size(), 2U);
  EXPECT_EQ(spread.moves()[0], (Move{.peer = 0, .chunk = 3, .send = true}));
  EXPECT_EQ(spread.moves()[1], (Move{.peer = 1, .chunk = 1, .send = false}));
  EXPECT_EQ(spread.ranks(), 4);
}

TEST(Spread, IsASourceUntilSomethingArrives) {
  Spread spread(2);
  EXPECT_TRUE(spread.is_source());
  spread.send(1, 0);
  EXPECT_TRUE(spread.is_source());
  spread.recv(1, 0);
  EXPECT_FALSE(spread.is_source());
}

}  // namespace
}  // namespace accl
