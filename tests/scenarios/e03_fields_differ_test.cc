// E03: type, operator or root differ while the bytes are equally many.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scenarios/mismatch.h"

namespace accl {
namespace {

void expect_difference(const MismatchedCall& call, const std::vector<std::string>& parts) {
  for (const char* mode : {"DEFAULT", "DEBUG_GLOBAL"}) {
    const auto verdicts = run_mismatch({.ranks = 3, .check_mode = mode}, call);
    ASSERT_EQ(verdicts.size(), 3u) << "a rank did not end by itself";
    for (const Verdict& verdict : verdicts) {
      EXPECT_EQ(verdict.code, ncclInvalidUsage) << verdict.text;
      EXPECT_EQ(verdict.text, verdicts[0].text) << "ranks were told different things";
      EXPECT_LT(verdict.took_ms, mismatch_limit_ms());
    }
    for (const std::string& part : parts) {
      EXPECT_NE(verdicts[0].text.find(part), std::string::npos)
          << "'" << part << "' is not in '" << verdicts[0].text << "'";
    }
  }
}

TEST(ScenarioE03, TypeDiffers) {
  expect_difference(
      [](int rank, ncclComm_t comm) {
        std::vector<int> data(500);
        return ncclAllReduce(data.data(), data.data(), 500, rank == 1 ? ncclInt : ncclFloat,
                             ncclSum, comm, nullptr);
      },
      {"differs in type", "ranks 0, 2 call AllReduce(count 500, float, sum)",
       "rank 1 calls AllReduce(count 500, int32, sum)"});
}

TEST(ScenarioE03, OperatorDiffers) {
  expect_difference(
      [](int rank, ncclComm_t comm) {
        std::vector<float> data(500);
        return ncclAllReduce(data.data(), data.data(), 500, ncclFloat,
                             rank == 0 ? ncclMax : ncclSum, comm, nullptr);
      },
      {"differs in operator", "rank 0 calls AllReduce(count 500, float, max)",
       "ranks 1, 2 call AllReduce(count 500, float, sum)"});
}

TEST(ScenarioE03, RootDiffers) {
  expect_difference(
      [](int rank, ncclComm_t comm) {
        std::vector<float> data(500);
        return ncclBcast(data.data(), 500, ncclFloat, rank == 2 ? 1 : 0, comm, nullptr);
      },
      {"differs in root", "ranks 0, 1 call Broadcast(count 500, float, root 0)",
       "rank 2 calls Broadcast(count 500, float, root 1)"});
  expect_difference(
      [](int rank, ncclComm_t comm) {
        std::vector<float> data(50000);
        std::vector<float> out(50000);
        return ncclReduce(data.data(), out.data(), 50000, ncclFloat, ncclSum, rank, comm, nullptr);
      },
      {"differs in root", "rank 0 calls Reduce(count 50000, float, sum, root 0)",
       "rank 2 calls Reduce(count 50000, float, sum, root 2)"});
}

// A pre-multiplied sum is another operator than a sum.
TEST(ScenarioE03, UserMadeOperatorDiffers) {
  expect_difference(
      [](int rank, ncclComm_t comm) {
        float data[4] = {};
        float scalar = 2;
        ncclRedOp_t op = ncclSum;
        if (rank > 0) {
          const ncclResult_t made =
              ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, ncclScalarHostImmediate, comm);
          if (made != ncclSuccess) return made;
        }
        return ncclAllReduce(data, data, 4, ncclFloat, op, comm, nullptr);
      },
      {"differs in operator", "rank 0 calls AllReduce(count 4, float, sum)",
       "ranks 1, 2 call AllReduce(count 4, float, premulsum)"});
}

}  // namespace
}  // namespace accl
