// B04: ranks killed at any moment leave nothing behind. B05: jobs side by side do not meet.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "src/base/rng.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

// Collectives of several sizes, for `turns` turns or for ever (0).
int loop(int ranks, int rank, Blackboard& board, int turns) {
  RankCheck check(rank);
  ncclComm_t comm = nullptr;
  if (!check.ok(join_ranks(&comm, ranks, rank, board), "init")) return 1;
  std::vector<int> data(300000);
  for (int turn = 0; turns == 0 || turn < turns; turn++) {
    const size_t count = turn % 3 == 0 ? 1 : turn % 3 == 1 ? 5000 : data.size();
    for (size_t i = 0; i < count; i++) data[i] = rank + static_cast<int>(i % 11) + turn;
    if (!check.ok(ncclAllReduce(data.data(), data.data(), count, ncclInt, ncclSum, comm, nullptr),
                  "AllReduce")) {
      return 1;
    }
    for (size_t i = 0; i < count; i++) {
      const int wanted = ranks * (ranks - 1) / 2 + ranks * (static_cast<int>(i % 11) + turn);
      if (!check.that(data[i] == wanted, "wrong data")) return 1;
    }
    board.slots[static_cast<size_t>(rank)].stage.store(turn + 1);
  }
  check.ok(ncclCommDestroy(comm), "destroy");
  return check.code();
}

void rest(uint64_t microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

void kill_all(Ranks& job, int ranks) {
  for (int rank = 0; rank < ranks; rank++) job.kill(rank, SIGKILL);
}

constexpr int kRanks = 3;

int twenty_kills_and_a_clean_run() {
  if (!own_mounts() || !mount_dev_shm("")) return kNotPossibleHere;
  Rng rng(4);
  for (int time = 0; time < 20; time++) {
    Ranks job;
    job.start(kRanks, [](int rank, Blackboard& board) { return loop(kRanks, rank, board, 0); });
    rest(rng.below(60000));
    kill_all(job, kRanks);
    if (job.wait(std::chrono::seconds(5)) != ExitCodes(kRanks, 128 + SIGKILL)) return 2;
  }
  if (count_entries("/dev/shm") != 0) return 3;
  const ExitCodes clean =
      Ranks::run(kRanks, [](int rank, Blackboard& board) { return loop(kRanks, rank, board, 30); });
  if (clean != ExitCodes(kRanks, 0)) return 4;
  return count_entries("/dev/shm") == 0 ? 0 : 5;
}

TEST(ScenarioB04, KillLeavesNothingBehind) {
  const ExitCodes codes =
      Ranks::run(1, [](int, Blackboard&) { return twenty_kills_and_a_clean_run(); });
  if (codes[0] == kNotPossibleHere) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(codes[0], 0);
}

TEST(ScenarioB05, TwoJobsSideBySide) {
  Rng rng(5);
  for (int time = 0; time < 20; time++) {
    Ranks survivor;
    Ranks victim;
    survivor.start(2, [](int rank, Blackboard& board) { return loop(2, rank, board, 60); });
    victim.start(2, [](int rank, Blackboard& board) { return loop(2, rank, board, 0); });
    ASSERT_TRUE(survivor.await_stage(0, 5, std::chrono::seconds(20)));
    rest(rng.below(10000));
    kill_all(victim, 2);
    EXPECT_EQ(survivor.wait(std::chrono::seconds(20)), ExitCodes(2, 0)) << "time " << time;
  }
}

}  // namespace
}  // namespace accl
