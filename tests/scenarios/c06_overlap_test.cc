// C06: buffers that overlap, and not in the in-place form. They are always refused, whatever
// NCCL_CHECK_MODE says, so nothing outside of the buffers can be written.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tests/support/rank_check.h"

namespace accl {
namespace {

class ScenarioC06 : public testing::TestWithParam<const char*> {};

TEST_P(ScenarioC06, PartlyOverlappingBuffers) {
  const char* mode = GetParam();
  const ExitCodes codes = Ranks::run(2, [mode](int rank, Blackboard& board) {
    setenv("NCCL_CHECK_MODE", mode, 1);
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 2, rank, board), "init")) return 1;
    std::vector<int> data(1000, 5);
    check.refused(ncclAllReduce(data.data(), data.data() + 1, 100, ncclInt, ncclSum, comm, nullptr),
                  ncclInvalidArgument, {"ncclAllReduce", "overlap", "400 bytes"}, "shifted");
    if (rank == 1) {
      check.refused(ncclAllGather(data.data(), data.data(), 100, ncclInt, comm, nullptr),
                    ncclInvalidArgument, {"ncclAllGather", "overlap", "800 bytes"}, "rank 1 in 0");
    }
    check.refused(
        ncclReduceScatter(data.data(), data.data() + 50, 100, ncclInt, ncclSum, comm, nullptr),
        ncclInvalidArgument, {"ncclReduceScatter", "overlap"}, "half of a block");
    check.refused(ncclBroadcast(data.data() + 99, data.data(), 100, ncclInt, rank, comm, nullptr),
                  ncclInvalidArgument, {"ncclBroadcast", "overlap"}, "last element");
    check.that(data == std::vector<int>(1000, 5), "a refused call wrote to its buffers");
    std::vector<int> sum(1000);
    check.ok(ncclAllReduce(data.data(), sum.data(), 1000, ncclInt, ncclSum, comm, nullptr),
             "after");
    check.that(sum == std::vector<int>(1000, 10), "the sum afterwards is wrong");
    // Neighbours do not overlap.
    check.ok(ncclAllReduce(data.data(), data.data() + 100, 100, ncclInt, ncclSum, comm, nullptr),
             "neighbours");
    check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  });
  EXPECT_EQ(codes, ExitCodes(2, 0));
}

INSTANTIATE_TEST_SUITE_P(CheckMode, ScenarioC06, testing::Values("DEFAULT", "DEBUG_LOCAL"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace accl
