// B13: sixteen ranks on two cores are slower than four, and not stuck.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

// Leaves this process two of the cores it has.
bool stay_on_two_cores() {
  cpu_set_t have;
  CPU_ZERO(&have);
  if (sched_getaffinity(0, sizeof have, &have) != 0) return false;
  cpu_set_t two;
  CPU_ZERO(&two);
  for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&two) < 2; core++) {
    if (CPU_ISSET(core, &have)) CPU_SET(core, &two);
  }
  return sched_setaffinity(0, sizeof two, &two) == 0;
}

void repeat(int times, size_t count, int ranks, ncclComm_t comm, RankCheck& check) {
  std::vector<int> data(count);
  for (int turn = 0; turn < times; turn++) {
    for (size_t i = 0; i < count; i++) data[i] = turn + static_cast<int>(i % 5);
    check.ok(ncclAllReduce(data.data(), data.data(), count, ncclInt, ncclSum, comm, nullptr),
             "AllReduce");
    bool right = true;
    for (size_t i = 0; i < count; i++) {
      right &= data[i] == ranks * (turn + static_cast<int>(i % 5));
    }
    check.that(right, "wrong data");
  }
}

constexpr int kBatches = 10;

// The mean of an 8-byte AllReduce in seconds, in the batch that others on this machine disturbed
// least; negative if something went wrong.
double small_mean(int ranks) {
  const int times = test::kSanitized ? 100 : 1000;
  Ranks job;
  job.start(ranks, [=](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    check.that(stay_on_two_cores(), "cannot choose cores");
    if (!check.ok(join_ranks(&comm, ranks, rank, board), "init")) return 1;
    repeat(10, 2, ranks, comm, check);
    double best = 1e9;
    for (int batch = 0; batch < kBatches; batch++) {
      const Stopwatch watch;
      repeat(times / kBatches, 2, ranks, comm, check);
      best = std::min(best, watch.seconds() / (times / kBatches));
    }
    board.slots[static_cast<size_t>(rank)].number.store(static_cast<int64_t>(best * 1e9));
    repeat(times / 10, (1 << 20) / sizeof(int), ranks, comm, check);
    check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  });
  if (job.wait(std::chrono::seconds(60)) != ExitCodes(static_cast<size_t>(ranks), 0)) return -1;
  return static_cast<double>(job.board().slots[0].number.load()) * 1e-9;
}

TEST(ScenarioB13, MoreRanksThanCores) {
  const double four = small_mean(4);
  const double sixteen = small_mean(16);
  printf("8-byte AllReduce on two cores: 4 ranks %.1f us, 16 ranks %.1f us\n", four * 1e6,
         sixteen * 1e6);
  ASSERT_GT(four, 0);
  ASSERT_GT(sixteen, 0);
  if (test::kSanitized) return;
  EXPECT_LT(sixteen, allowed(5e-3));
  // Four ranks may need two microseconds, in which the system switches threads but once or twice:
  // what sixteen need for their switches is no livelock.
  constexpr double kSwitches = 250e-6;
  EXPECT_LT(sixteen, allowed(std::max(20 * four, kSwitches)));
}

}  // namespace
}  // namespace accl
