// D06: destroy when the others have gone. D07: handles after their end.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

constexpr int kRanks = 3;

int last_one_leaves(int rank, Blackboard& board) {
  RankCheck check(rank);
  ncclComm_t comm = nullptr;
  if (!check.ok(join_ranks(&comm, kRanks, rank, board), "init")) return 1;
  int data = 1;
  check.ok(ncclAllReduce(&data, &data, 1, ncclInt, ncclSum, comm, nullptr), "AllReduce");
  check.that(data == kRanks, "wrong sum");
  if (rank != 0) {
    board.slots[static_cast<size_t>(rank)].stage.store(1);
    _exit(check.code());
  }
  for (size_t other = 1; other < kRanks; other++) {
    while (board.slots[other].stage.load() == 0) std::this_thread::yield();
  }
  // Both orders: the deaths are known, and they are about to be.
  if (board.go.load() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Stopwatch watch;
  const ncclResult_t finalized = ncclCommFinalize(comm);
  check.that(finalized == ncclSuccess || finalized == ncclRemoteError, "finalize");
  const ncclResult_t destroyed = ncclCommDestroy(comm);
  check.that(destroyed == ncclSuccess || destroyed == ncclRemoteError, "destroy");
  check.that(watch.seconds() < allowed(5), std::to_string(watch.seconds()) + " s");
  return check.code();
}

TEST(ScenarioD06, DestroyWhenTheOthersHaveGone) {
  for (int late = 0; late < 2; late++) {
    Ranks job;
    job.board().go.store(late);
    job.start(kRanks, last_one_leaves);
    EXPECT_EQ(job.wait(std::chrono::seconds(30)), ExitCodes(kRanks, 0)) << "late " << late;
  }
}

int use_after_the_end(int rank, Blackboard&) {
  RankCheck check(rank);
  ncclUniqueId id{};
  check.ok(ncclGetUniqueId(&id), "id");
  for (const bool aborted : {false, true}) {
    ncclComm_t comm = nullptr;
    if (!check.ok(ncclCommInitRank(&comm, 1, id, 0), "init")) return 1;
    check.ok(aborted ? ncclCommAbort(comm) : ncclCommDestroy(comm), "end");
    const std::vector<std::string> gone = {"has been destroyed or aborted"};
    int data = 1;
    ncclResult_t state = ncclSuccess;
    check.refused(ncclCommDestroy(comm), ncclInvalidArgument, gone, "destroy");
    check.refused(ncclCommAbort(comm), ncclInvalidArgument, gone, "abort");
    check.refused(ncclCommFinalize(comm), ncclInvalidArgument, gone, "finalize");
    check.refused(ncclCommCount(comm, &data), ncclInvalidArgument, gone, "count");
    check.refused(ncclCommGetAsyncError(comm, &state), ncclInvalidArgument, gone, "async error");
    check.refused(ncclAllReduce(&data, &data, 1, ncclInt, ncclSum, comm, nullptr),
                  ncclInvalidArgument, gone, "AllReduce");
    check.refused(ncclSend(&data, 1, ncclInt, 0, comm, nullptr), ncclInvalidArgument, gone, "Send");
  }
  check.ok(ncclCommDestroy(nullptr), "destroy of NULL");
  check.ok(ncclCommAbort(nullptr), "abort of NULL");
  int local = 0;
  const auto foreign = reinterpret_cast<ncclComm_t>(&local);
  check.refused(ncclCommDestroy(foreign), ncclInvalidArgument, {"is not a communicator"},
                "foreign");
  check.refused(ncclCommAbort(foreign), ncclInvalidArgument, {"is not a communicator"}, "foreign");
  return check.code();
}

TEST(ScenarioD07, UseAfterTheEnd) {
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 1, use_after_the_end));
}

}  // namespace
}  // namespace accl
