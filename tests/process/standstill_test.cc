// Ranks that wait for each other for good: a point-to-point call meets a collective or another one
// that does not fit. And ranks that only wait for long.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/scenarios/mismatch.h"

namespace accl {
namespace {

constexpr size_t kCount = 2 << 20;  // more than any stream holds

void expect_told(int ranks, const MismatchedCall& call, const std::string& text) {
  const std::vector<Verdict> verdicts = run_mismatch({.ranks = ranks, .op_timeout_s = 20}, call);
  ASSERT_EQ(verdicts.size(), static_cast<size_t>(ranks)) << "a rank did not end by itself";
  for (const Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.code, ncclInvalidUsage) << verdict.text;
    EXPECT_NE(verdict.text.find(text), std::string::npos) << verdict.text;
    EXPECT_EQ(verdict.text, verdicts[0].text);
    EXPECT_LT(verdict.took_ms, mismatch_limit_ms());
  }
}

TEST(Standstill, RecvMeetsAllReduce) {
  std::vector<float> data(1000);
  const auto call = [&](int rank, ncclComm_t comm) {
    return rank == 1
               ? ncclRecv(data.data(), 1000, ncclFloat, 0, comm, nullptr)
               : ncclAllReduce(data.data(), data.data(), 1000, ncclFloat, ncclSum, comm, nullptr);
  };
  expect_told(2, call,
              "no rank can go on: rank 0 waits in AllReduce(count 1000, float, sum); rank 1 waits "
              "in Recv of 4000 bytes from rank 0");
  expect_told(4, call,
              "no rank can go on: ranks 0, 2, 3 wait in AllReduce(count 1000, float, sum); rank 1 "
              "waits in Recv of 4000 bytes from rank 0");
}

TEST(Standstill, BothReceive) {
  std::vector<float> data(1000);
  expect_told(
      2,
      [&](int rank, ncclComm_t comm) {
        return ncclRecv(data.data(), 1000, ncclFloat, 1 - rank, comm, nullptr);
      },
      "no rank can go on: rank 0 waits in Recv of 4000 bytes from rank 1; rank 1 waits in Recv of "
      "4000 bytes from rank 0");
}

TEST(Standstill, AllSendMoreThanFits) {
  std::vector<float> data(kCount);
  expect_told(
      3,
      [&](int rank, ncclComm_t comm) {
        return ncclSend(data.data(), kCount, ncclFloat, (rank + 1) % 3, comm, nullptr);
      },
      "no rank can go on: rank 0 waits in Send of 8388608 bytes to rank 1; rank 1 waits in Send of "
      "8388608 bytes to rank 2; rank 2 waits in Send of 8388608 bytes to rank 0");
}

// Two ranks wait for long, but the third one comes in the end.
TEST(Standstill, ALateRankIsNoStandstill) {
  const auto body = [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 3, rank, board), "init")) return 1;
    if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    float value = 1;
    if (rank == 1) check.ok(ncclRecv(&value, 1, ncclFloat, 2, comm, nullptr), "recv");
    if (rank == 2) check.ok(ncclSend(&value, 1, ncclFloat, 1, comm, nullptr), "send");
    check.ok(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr), "all reduce");
    check.that(value == 3, "the sum");
    check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  };
  Ranks ranks;
  ranks.start(3, body);
  EXPECT_EQ(ranks.wait(std::chrono::seconds(30)), ExitCodes(3, 0));
}

// Two ranks are late, one after the other: each call waits for long, and none for good.
TEST(Standstill, TwoStragglersInARow) {
  const auto body = [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 3, rank, board), "init")) return 1;
    const auto late = [&](int who) {
      if (rank == who) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      float value = 1;
      check.ok(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr), "all reduce");
      check.that(value == 3, "the sum");
    };
    for (const int who : {2, 1, 0}) late(who);
    check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  };
  Ranks ranks;
  ranks.start(3, body);
  EXPECT_EQ(ranks.wait(std::chrono::seconds(30)), ExitCodes(3, 0));
}

}  // namespace
}  // namespace accl
