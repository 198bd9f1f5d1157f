// Processes that meet and compute: the shortest proof that everything is connected.
#include <gtest/gtest.h>

#include <vector>

#include "accl/nccl.h"
#include "tests/support/ranks.h"

namespace accl {
namespace {

class BasicTest : public testing::TestWithParam<int> {};

TEST_P(BasicTest, AllReduceSumsOverProcesses) {
  const int n = GetParam();
  const ExitCodes codes = Ranks::run(n, [n](int rank, Blackboard& board) {
    ncclComm_t comm = nullptr;
    if (join_ranks(&comm, n, rank, board) != ncclSuccess) {
      fprintf(stderr, "rank %d: %s\n", rank, ncclGetLastError(nullptr));
      return 2;
    }
    for (const size_t count :
         {size_t{1}, size_t{2}, size_t{1000}, size_t{100000}, size_t{3000000}}) {
      std::vector<float> in(count);
      std::vector<float> out(count, -1);
      for (size_t i = 0; i < count; i++)
        in[i] = static_cast<float>(rank + 1) * static_cast<float>(i % 13);
      for (int repeat = 0; repeat < 3; repeat++) {
        if (ncclAllReduce(in.data(), out.data(), count, ncclFloat, ncclSum, comm, nullptr) !=
            ncclSuccess) {
          fprintf(stderr, "rank %d: %s\n", rank, ncclGetLastError(comm));
          return 3;
        }
        for (size_t i = 0; i < count; i++) {
          const float expected = static_cast<float>(n * (n + 1) / 2) * static_cast<float>(i % 13);
          if (out[i] != expected) {
            fprintf(stderr, "rank %d count %zu element %zu: %f, expected %f\n", rank, count, i,
                    static_cast<double>(out[i]), static_cast<double>(expected));
            return 4;
          }
        }
      }
    }
    return ncclCommDestroy(comm) == ncclSuccess ? 0 : 5;
  });
  EXPECT_EQ(codes, ExitCodes(static_cast<size_t>(n), 0));
}

INSTANTIATE_TEST_SUITE_P(Ranks, BasicTest, testing::Values(1, 2, 3, 4, 8));

}  // namespace
}  // namespace accl
