// D01: a rank is killed in the middle of collectives: the others hear of it, by name, and can end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/rng.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

constexpr int kRanks = 3;
constexpr int kVictim = 2;

int survive(int rank, Blackboard& board) {
  RankCheck check(rank);
  ncclComm_t comm = nullptr;
  if (!check.ok(join_ranks(&comm, kRanks, rank, board), "init")) return 1;
  std::vector<float> data((4 << 20) / sizeof(float), 0);
  ncclResult_t result = ncclSuccess;
  while (result == ncclSuccess) {
    result =
        ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr);
    board.slots[static_cast<size_t>(rank)].stage.fetch_add(1);
  }
  board.slots[static_cast<size_t>(rank)].number.store(1);
  check.refused(result, ncclRemoteError, {"rank 2", "died"}, "after the death");
  check.that(failure_text(comm).find("rank 2") != std::string::npos, "the failure has no name");
  const Stopwatch watch;
  check.ok(ncclCommAbort(comm), "abort");
  check.that(watch.seconds() < allowed(2), "abort takes " + std::to_string(watch.seconds()) + " s");
  return check.code();
}

TEST(ScenarioD01, PeerDiesInACollective) {
  Rng rng(1);
  for (int time = 0; time < 5; time++) {
    Ranks job;
    job.start(kRanks, survive);
    ASSERT_TRUE(job.await_stage(0, 3, std::chrono::seconds(20)));
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(20000)));
    const Stopwatch watch;
    job.kill(kVictim, SIGKILL);
    for (size_t rank = 0; rank < kVictim; rank++) {
      while (job.board().slots[rank].number.load() == 0 && watch.seconds() < 20) {
        std::this_thread::yield();
      }
    }
    EXPECT_LT(watch.seconds(), allowed(3));
    EXPECT_EQ(job.wait(std::chrono::seconds(10)), (ExitCodes{0, 0, 128 + SIGKILL}));
  }
}

}  // namespace
}  // namespace accl
