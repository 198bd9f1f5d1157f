// A stopped process is not a dead one: the others wait, and all goes on right.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "accl/device.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

constexpr int kRanks = 3;
constexpr int kStopped = 1;

// Turns until the parent says stop; all ranks end at the same turn, because its sum tells them.
int turns(int rank, Blackboard& board, bool with_stream) {
  RankCheck check(rank);
  ncclComm_t comm = nullptr;
  if (!check.ok(join_ranks(&comm, kRanks, rank, board), "init")) return 1;
  acclStream_t stream = nullptr;
  if (with_stream) check.ok(acclStreamCreate(&stream), "stream");
  std::vector<int> data(50000);
  for (int turn = 0, go_on = kRanks; go_on == kRanks && check.code() == 0; turn++) {
    data.assign(data.size(), turn + rank);
    data[0] = board.go.load() == 0 ? 1 : 0;
    check.ok(ncclAllReduce(data.data(), data.data(), data.size(), ncclInt, ncclSum, comm, stream),
             "AllReduce");
    if (with_stream) check.ok(acclStreamSynchronize(stream), "synchronise");
    check.that(data[1] == 3 * turn + 3 && data.back() == data[1], "wrong sum");
    go_on = data[0];
    board.slots[static_cast<size_t>(rank)].stage.store(turn + 1);
  }
  check.that(failure_text(comm).empty(), "a failure: " + failure_text(comm));
  check.ok(ncclCommDestroy(comm), "destroy");
  return check.code();
}

class Stop : public testing::TestWithParam<bool> {};

TEST_P(Stop, IsNotDeath) {
  Ranks job;
  job.start(kRanks, [](int rank, Blackboard& board) { return turns(rank, board, GetParam()); });
  ASSERT_TRUE(job.await_stage(0, 5, std::chrono::seconds(20)));
  job.kill(kStopped, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  const int before = job.board().slots[0].stage.load();
  job.kill(kStopped, SIGCONT);
  EXPECT_TRUE(job.await_stage(0, before + 5, std::chrono::seconds(20)));
  job.board().go.store(1);
  EXPECT_EQ(job.wait(std::chrono::seconds(20)), ExitCodes(kRanks, 0));
}

INSTANTIATE_TEST_SUITE_P(Streams, Stop, testing::Bool(), [](const auto& instance) {
  return std::string(instance.param ? "Stream" : "Null");
});

}  // namespace
}  // namespace accl
