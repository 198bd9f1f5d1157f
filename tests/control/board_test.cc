// The board and signatures: texts, history, readers beside a writer.
#include "src/control/board.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "src/bootstrap/unique_id.h"

namespace accl {
namespace {

struct alignas(64) Page {
  std::array<std::byte, 4096> bytes{};
};

class Slots {
 public:
  explicit Slots(int ranks) : pages_(static_cast<size_t>(ranks)) {
    std::vector<std::span<const std::byte>> spans;
    for (Page& page : pages_) {
      writers.emplace_back(page.bytes);
      spans.push_back(page.bytes);
    }
    board = Board(spans);
  }

 private:
  std::vector<Page> pages_;

 public:
  std::vector<BoardWriter> writers;
  Board board;
};

CallSignature all_reduce(uint64_t sequence, uint64_t count = 1000) {
  return {sequence, Collective::kAllReduce, count, DataType::kFloat32, 0, -1};
}

TEST(Signature, HashTellsEveryFieldAndIsNeverZero) {
  const CallSignature base = all_reduce(17);
  std::vector<CallSignature> others(6, base);
  others[0].sequence = 18;
  others[1].collective = Collective::kReduceScatter;
  others[2].count = 1001;
  others[3].type = DataType::kInt32;
  others[4].op = 1;
  others[5].root = 0;
  for (const CallSignature& other : others) EXPECT_NE(hash(other), hash(base));
  std::set<uint32_t> hashes;
  for (uint64_t i = 0; i < 100'000; ++i) {
    EXPECT_NE(hash(all_reduce(i)), 0u);
    hashes.insert(hash(all_reduce(i)));
  }
  EXPECT_GT(hashes.size(), 99'980u);  // one expects about one collision
}

TEST(Signature, Descriptions) {
  EXPECT_EQ(describe(all_reduce(1)), "AllReduce(count 1000, float, sum)");
  EXPECT_EQ(describe({1, Collective::kBroadcast, 8, DataType::kInt32, 0, 3}),
            "Broadcast(count 8, int32, root 3)");
  EXPECT_EQ(describe({1, Collective::kReduce, 8, DataType::kInt32, 4, 0}),
            "Reduce(count 8, int32, avg, root 0)");
}

TEST(Board, NamesWhoCallsWhat) {
  Slots slots(4);
  for (size_t rank = 0; rank < 4; ++rank) {
    slots.writers[rank].enter();
    slots.writers[rank].publish(all_reduce(16));
  }
  EXPECT_FALSE(slots.board.compare());
  slots.writers[0].publish(all_reduce(17));
  EXPECT_FALSE(slots.board.compare());
  for (size_t rank = 1; rank < 4; ++rank) {
    slots.writers[rank].publish({17, Collective::kBroadcast, 1000, DataType::kFloat32, 0, 0});
  }
  const auto mismatch = slots.board.compare();
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->sequence, 17u);
  EXPECT_EQ(mismatch->text,
            "operation 17 differs: rank 0 calls AllReduce(count 1000, float, sum); ranks 1-3 call "
            "Broadcast(count 1000, float, root 0)");
}

TEST(Board, FindsADifferenceThatOneRankHasPassed) {
  Slots slots(2);
  for (uint64_t i = 0; i < 40; ++i) slots.writers[0].publish(all_reduce(i));
  for (uint64_t i = 0; i < 38; ++i) slots.writers[1].publish(all_reduce(i, i == 37 ? 5 : 1000));
  const auto mismatch = slots.board.compare();
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->sequence, 37u);
  EXPECT_EQ(mismatch->text,
            "operation 37 differs in count: rank 0 calls AllReduce(count 1000, float, sum); rank 1 "
            "calls AllReduce(count 5, float, sum)");
}

TEST(Board, NamesTheLateRanks) {
  Slots slots(3);
  for (BoardWriter& writer : slots.writers) writer.enter();
  slots.writers[0].publish(all_reduce(40));
  slots.writers[1].publish(all_reduce(40));
  slots.writers[2].publish(all_reduce(39));
  EXPECT_EQ(slots.board.laggards(40, 0), std::vector<Rank>{2});
  EXPECT_FALSE(slots.board.all_began(40, 0));
  EXPECT_TRUE(slots.board.all_began(40, 2));
  EXPECT_TRUE(slots.board.all_began(39, 0));
  EXPECT_EQ(slots.board.describe_laggards(all_reduce(40), 0),
            "operation 40 AllReduce waits for rank 2 (pid " + std::to_string(getpid()) +
                " on host " + host_name() + "); its last operation is 39");
  slots.writers[2].set_state(RankState::kLeft);
  EXPECT_EQ(slots.board.state(2), RankState::kLeft);
  slots.writers[2].publish(all_reduce(40));
  EXPECT_EQ(slots.board.describe_laggards(all_reduce(40), 0), "");
}

TEST(Board, GarbageInASlotIsOnlyAWrongText) {
  std::vector<Page> pages(2);
  for (auto& byte : pages[1].bytes) byte = std::byte{0xff};
  BoardWriter(pages[0].bytes).publish(all_reduce(3));
  const Board board({pages[0].bytes, pages[1].bytes});
  static_cast<void>(board.compare());
  EXPECT_FALSE(board.describe_rank(1).empty());
  EXPECT_EQ(board.state(1), RankState::kAbsent);
}

TEST(Board, AReaderNeverSeesHalfAnEntry) {
  Slots slots(1);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 0; !stop.load(); ++i) {
      CallSignature signature = all_reduce(i, i * 3);
      signature.root = static_cast<int32_t>(i % 1000);
      slots.writers[0].publish(signature);
    }
  });
  int seen = 0;
  for (uint64_t i = 0; seen < 1000; ++i) {
    const auto late = slots.board.laggards(i, -1);
    if (!late.empty()) {
      std::this_thread::yield();
      --i;
      continue;
    }
    const auto signature = slots.board.signature(0, i);
    if (!signature) {
      i += 5;  // fell behind the history; catch up
      while (slots.board.laggards(i + 1000, -1).empty()) i += 1000;
      continue;
    }
    ++seen;
    ASSERT_EQ(signature->count, i * 3);
    ASSERT_EQ(signature->root, static_cast<int32_t>(i % 1000));
  }
  stop.store(true);
  writer.join();
}

}  // namespace
}  // namespace accl
