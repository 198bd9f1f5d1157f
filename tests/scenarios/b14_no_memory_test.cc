// B14: each single request for memory, made while a rank joins and works, is refused once: an error
// with a text, no crash, and the peer hears of it.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/fail_malloc.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

constexpr size_t kCount = 100000;

// Init and an AllReduce. The first result that is not success.
ncclResult_t join_and_sum(int rank, const ncclUniqueId& id, std::vector<int>& data,
                          ncclComm_t* comm) {
  const ncclResult_t joined = ncclCommInitRank(comm, 2, id, rank);
  if (joined != ncclSuccess) return joined;
  return ncclAllReduce(data.data(), data.data(), kCount, ncclInt, ncclSum, *comm, nullptr);
}

void judge(ncclResult_t result, const std::vector<int>& data, RankCheck& check) {
  const std::string text = result == ncclSuccess ? "" : ncclGetLastError(nullptr);
  switch (result) {
    case ncclSuccess:
      check.that(data[7] == 2, "wrong sum");
      break;
    case ncclSystemError:
    case ncclRemoteError:
      check.that(!text.empty(), "an error without a text");
      break;
    default:
      check.that(result == ncclInternalError && text.find("out of memory") != std::string::npos,
                 "result " + std::to_string(result) + ", " + text);
  }
}

// Rank 1's k-th request is refused. Its number says how many there were.
int refuse_one(int64_t kth, int rank, Blackboard& board) {
  RankCheck check(rank);
  setenv("ACCL_INIT_TIMEOUT", "1", 1);
  setenv("ACCL_OP_TIMEOUT", "2", 1);
  std::vector<int> data(kCount, 1);
  const ncclUniqueId id = shared_id(rank, board);
  ncclComm_t comm = nullptr;
  const Stopwatch watch;
  if (rank == 1) accl_fail_memory_arm(kth);
  const ncclResult_t result = join_and_sum(rank, id, data, &comm);
  if (rank == 1) board.slots[1].number.store(accl_fail_memory_disarm());
  judge(result, data, check);
  check.that(watch.seconds() < allowed(10), std::to_string(watch.seconds()) + " s");
  say(rank, board, result == ncclSuccess ? "" : ncclGetLastError(nullptr));
  if (comm != nullptr) check.ok(ncclCommAbort(comm), "abort");
  return check.code();
}

// Jobs whose rank 1 never comes wait for it, so several run at the same time.
constexpr int64_t kAtOnce = 32;

int64_t refuse_some(int64_t first, int* failures) {
  std::vector<Ranks> jobs(kAtOnce);
  for (int64_t i = 0; i < kAtOnce; i++) {
    jobs[static_cast<size_t>(i)].start(
        2, [=](int rank, Blackboard& board) { return refuse_one(first + i, rank, board); });
  }
  int64_t requests = 0;
  for (int64_t i = 0; i < kAtOnce; i++) {
    Ranks& job = jobs[static_cast<size_t>(i)];
    const ExitCodes codes = job.wait(std::chrono::seconds(20));
    requests = std::max(requests, job.board().slots[1].number.load());
    if (codes != ExitCodes(2, 0)) ++*failures;
    EXPECT_EQ(codes, ExitCodes(2, 0)) << "request " << first + i << " of " << requests
                                      << "; rank 0: " << job.text(0) << "; rank 1: " << job.text(1);
  }
  return requests;
}

TEST(ScenarioB14, EveryRequestForMemoryIsRefusedOnce) {
  int64_t requests = 1;
  int failures = 0;
  for (int64_t first = 1; first <= requests && failures < 10; first += kAtOnce) {
    requests = std::max(requests, refuse_some(first, &failures));
  }
  printf("%d requests for memory\n", static_cast<int>(requests));
  EXPECT_GT(requests, 20) << "the requests are not counted";
}

}  // namespace
}  // namespace accl
