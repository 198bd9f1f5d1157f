// The watch over ranks that wait for each other: what it takes for a verdict, and what must not do.
#include "src/control/standstill.h"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

namespace accl {
namespace {

constexpr int kRanks = 3;
constexpr uint64_t kMs = 1'000'000;

class StandstillTest : public testing::Test {
 protected:
  StandstillTest() {
    std::vector<std::span<const std::byte>> spans;
    for (Page& page : pages_) {
      writers_.emplace_back(page.bytes);
      spans.emplace_back(page.bytes);
    }
    board_ = Board(spans);
  }

  // All ranks in `ranks` look once each 10 ms; true if the watch speaks within `ms`.
  bool look(const std::vector<int>& ranks, uint64_t ms) {
    for (const uint64_t end = now_ + ms * kMs; now_ < end; now_ += 10 * kMs) {
      for (const int rank : ranks) {
        writers_[static_cast<size_t>(rank)].tell({.mark = marks_[static_cast<size_t>(rank)]});
      }
      if (watch_.observe(board_, now_)) return true;
    }
    return false;
  }

  struct alignas(64) Page {
    std::array<std::byte, 4096> bytes{};
  };
  std::array<Page, kRanks> pages_;
  std::vector<BoardWriter> writers_;
  Board board_;
  Standstill watch_{kRanks};
  std::array<uint64_t, kRanks> marks_{11, 12, 13};
  uint64_t now_ = 0;
};

TEST_F(StandstillTest, AllStandStill) {
  EXPECT_FALSE(look({0, 1, 2}, 290));
  EXPECT_TRUE(look({0, 1, 2}, 30));
}

TEST_F(StandstillTest, OneHasNeverWaited) { EXPECT_FALSE(look({0, 2}, 5000)); }

TEST_F(StandstillTest, OneLooksNoMore) {
  EXPECT_FALSE(look({0, 1, 2}, 20));
  EXPECT_FALSE(look({0, 2}, 5000)) << "its process may be stopped, or its call is over";
  EXPECT_TRUE(look({0, 1, 2}, 50)) << "it has come back and waits as before";
}

// Rank 1 waited for rank 2, its call is over and it computes; then the others wait for rank 1.
TEST_F(StandstillTest, LooksOfAnEarlierWaitDoNotCount) {
  EXPECT_FALSE(look({0, 1, 2}, 200));
  for (uint64_t& mark : marks_) mark++;
  EXPECT_FALSE(look({0, 2}, 5000)) << "rank 1 has told its old mark only";
  marks_ = {21, 22, 23};
  EXPECT_FALSE(look({0, 1, 2}, 250));
  writers_[1].go_on();
  EXPECT_FALSE(look({0, 2}, 5000));
  EXPECT_FALSE(look({0, 1, 2}, 200));
  EXPECT_TRUE(look({0, 1, 2}, 150));
}

TEST_F(StandstillTest, OneMoves) {
  for (int i = 0; i < 20; i++) {
    EXPECT_FALSE(look({0, 1, 2}, 200));
    marks_[1]++;
  }
  EXPECT_TRUE(look({0, 1, 2}, 400));
}

TEST_F(StandstillTest, PlacesAreNamed) {
  writers_[0].publish({4, Collective::kAllReduce, 1000, DataType::kFloat32, 0, -1});
  writers_[0].tell({.mark = 1});
  writers_[1].tell({.mark = 1, .what = Wait::For::kRecv, .peer = 0, .bytes = 4000});
  writers_[2].tell({.mark = 1, .what = Wait::For::kSend, .peer = 1});
  EXPECT_EQ(board_.describe_waits(),
            "rank 0 waits in AllReduce(count 1000, float, sum); rank 1 waits in Recv of 4000 bytes "
            "from rank 0; rank 2 waits in Send to rank 1");
}

}  // namespace
}  // namespace accl
