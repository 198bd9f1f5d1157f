// What ranks print: one fact is one line, which names the device and the function or place.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/log_folder.h"
#include "tests/support/rank_check.h"

namespace accl {
namespace {

long count_of(const std::vector<std::string>& lines, const std::string& part) {
  return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(part) != std::string::npos;
  });
}

TEST(LogOfRanks, AFailureIsPrintedOnceByEachRank) {
  const LogFolder folder;
  folder.log_here("WARN");
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 2, [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 2, rank, board), "init")) return 1;
    std::vector<int> data(2);
    const auto count = static_cast<size_t>(rank + 1);
    for (int i = 0; i < 2; i++) {
      check.refused(ncclAllReduce(data.data(), data.data(), count, ncclInt, ncclSum, comm, nullptr),
                    ncclInvalidUsage, {"ncclAllReduce", "differs in count"}, "AllReduce");
      ncclResult_t state = ncclSuccess;
      check.ok(ncclCommGetAsyncError(comm, &state), "GetAsyncError");
      check.that(state == ncclInvalidUsage, "the communicator has not failed");
    }
    check.ok(ncclCommAbort(comm), "abort");
    return check.code();
  }));
  LogFolder::log_no_more();
  const std::vector<std::string> lines = folder.lines();
  EXPECT_EQ(lines.size(), 2U);
  for (const char* rank : {"NCCL WARN rank 0: communicator ", "NCCL WARN rank 1: communicator "}) {
    EXPECT_EQ(count_of(lines, rank), 1) << rank;
  }
  EXPECT_EQ(count_of(lines, "differs in count"), 2);
  EXPECT_EQ(count_of(lines, "[-]"), 0) << lines[0];
}

TEST(LogOfRanks, ACallRefusedInAGroupIsPrintedOnce) {
  const LogFolder folder;
  folder.log_here("WARN");
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 1, [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 1, rank, board), "init")) return 1;
    int data = 0;
    check.ok(ncclGroupStart(), "GroupStart");
    check.refused(ncclSend(&data, 1, ncclInt, 7, comm, nullptr), ncclInvalidArgument,
                  {"ncclSend: peer 7 is not in 0..0"}, "Send");
    check.refused(ncclGroupEnd(), ncclInvalidArgument, {"ncclGroupEnd: peer 7 is not in 0..0"},
                  "GroupEnd");
    check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  }));
  LogFolder::log_no_more();
  const std::vector<std::string> lines = folder.lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].ends_with(" [0] ncclSend NCCL WARN peer 7 is not in 0..0")) << lines[0];
}

TEST(LogOfRanks, InitSaysWhatRuns) {
  const LogFolder folder;
  folder.log_here("INFO", "INIT");
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 3, [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 3, rank, board), "init")) return 1;
    check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  }));
  LogFolder::log_no_more();
  const std::vector<std::string> lines = folder.lines();
  EXPECT_EQ(count_of(lines, " - Init COMPLETE"), 3);
  EXPECT_EQ(count_of(lines, " rank 1 nranks 3 device "), 1);
  EXPECT_EQ(count_of(lines, " (self: rank 1, shm: ranks 0, 2; cores "), 1);
  EXPECT_EQ(count_of(lines, "; kernels "), 3);
}

}  // namespace
}  // namespace accl
