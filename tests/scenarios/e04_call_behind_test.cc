// E04: one rank is a call behind. The others' time-out names it and only it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "tests/support/rank_check.h"

namespace accl {
namespace {

constexpr int kRanks = 8;
constexpr int kLate = 5;
constexpr int kSkipped = 40;

int rank_body(int rank, Blackboard& board) {
  setenv("ACCL_OP_TIMEOUT", "5", 1);
  RankCheck check(rank);
  ncclComm_t comm = nullptr;
  if (!check.ok(join_ranks(&comm, kRanks, rank, board), "init")) return 1;
  std::vector<float> data(1000, 1);
  for (int call = 1; call < kSkipped; call++) {
    check.ok(ncclAllReduce(data.data(), data.data(), 1000, ncclFloat, ncclMax, comm, nullptr),
             "a call in step");
  }
  if (rank == kLate) {  // in application code, until all others have given up
    while (board.go.load() == 0) usleep(10000);
  } else {
    const ncclResult_t result =
        ncclAllReduce(data.data(), data.data(), 1000, ncclFloat, ncclMax, comm, nullptr);
    check.that(result == ncclRemoteError, "result " + std::to_string(result));
  }
  say(rank, board, failure_text(comm));
  board.slots[static_cast<size_t>(rank)].stage.store(1);
  // The late one hears of it too, without being killed.
  if (rank == kLate) {
    const ncclResult_t result =
        ncclAllReduce(data.data(), data.data(), 1000, ncclFloat, ncclMax, comm, nullptr);
    check.refused(result, ncclRemoteError, {"time-out"}, "the late call");
  }
  check.ok(ncclCommAbort(comm), "abort");
  return check.code();
}

TEST(ScenarioE04, OneRankIsACallBehind) {
  Ranks ranks;
  ranks.start(kRanks, rank_body);
  for (int rank = 0; rank < kRanks; rank++) {
    if (rank == kLate) continue;
    EXPECT_TRUE(ranks.await_stage(rank, 1, std::chrono::seconds(30))) << "rank " << rank;
  }
  ranks.board().go.store(1);
  EXPECT_EQ(ranks.wait(std::chrono::seconds(20)), ExitCodes(kRanks, 0));
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string text = ranks.text(0);
  for (const std::string& part :
       {std::string("operation 40 AllReduce waits for rank 5 "),
        "pid " + std::to_string(ranks.pid(kLate)), std::string(host.data()),
        std::string("its last operation is 39"), std::string("ACCL_OP_TIMEOUT")}) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in '" << text << "'";
  }
  for (int rank = 0; rank < kRanks; rank++) {
    EXPECT_EQ(ranks.text(rank), text) << "rank " << rank << " was told something else";
    if (rank == kLate) continue;
    const std::string name = "rank " + std::to_string(rank) + " ";
    EXPECT_EQ(text.find("waits for " + name), std::string::npos) << "blames a good rank: " << text;
  }
}

// The same on real streams, where the calls have returned long before.
TEST(ScenarioE04, OnStreams) {
  Ranks ranks;
  ranks.start(3, [](int rank, Blackboard& board) {
    setenv("ACCL_OP_TIMEOUT", "2", 1);
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 3, rank, board), "init")) return 1;
    acclStream_t stream = nullptr;
    check.ok(acclStreamCreate(&stream), "stream");
    std::vector<float> data(100000, 1);
    if (rank != 1) {
      check.ok(
          ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclMax, comm, stream),
          "the call");
      // Nobody synchronises: the library itself notices.
      while (failure_text(comm).empty()) usleep(10000);
      check.that(acclStreamSynchronize(stream) == acclErrorLaunchFailure, "the stream has failed");
    } else {
      while (failure_text(comm).empty()) usleep(10000);
    }
    say(rank, board, failure_text(comm));
    check.ok(ncclCommAbort(comm), "abort");
    check.ok(acclStreamDestroy(stream), "stream");
    return check.code();
  });
  EXPECT_EQ(ranks.wait(std::chrono::seconds(20)), ExitCodes(3, 0));
  const std::string text = ranks.text(0);
  EXPECT_NE(text.find("operation 1 AllReduce waits for rank 1 "), std::string::npos) << text;
  EXPECT_EQ(ranks.text(1), text);
  EXPECT_EQ(ranks.text(2), text);
}

}  // namespace
}  // namespace accl
