// ncclCommAbort: returns within a second whatever the peers do, from any thread; the peers hear who
// aborted.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "accl/device.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

void abort_in_time(ncclComm_t comm, RankCheck& check) {
  const Stopwatch watch;
  check.ok(ncclCommAbort(comm), "abort");
  check.that(watch.seconds() < allowed(1), "abort takes " + std::to_string(watch.seconds()) + " s");
}

void rest_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

class AbortTest : public testing::TestWithParam<RankKind> {
 protected:
  static void run(int ranks, const Ranks::Body& body) {
    EXPECT_TRUE(run_ranks(GetParam(), ranks, body));
  }
};

// Rank 2 aborts; rank 0 waits in a call, rank 1 with a stream.
TEST_P(AbortTest, PeersHearWhoAborted) {
  run(3, [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 3, rank, board), "init")) return 1;
    int data = 1;
    acclStream_t stream = nullptr;
    const std::string who = "rank 2 called ncclCommAbort";
    std::atomic<int>& stage = board.slots[1].stage;
    if (rank == 2) {
      while (stage.load() == 0) rest_ms(1);
      rest_ms(100);
    } else if (rank == 0) {
      check.refused(ncclAllReduce(&data, &data, 1, ncclInt, ncclSum, comm, nullptr),
                    ncclRemoteError, {who}, "blocked call");
    } else {
      check.ok(acclStreamCreate(&stream), "stream");
      check.ok(ncclAllReduce(&data, &data, 1, ncclInt, ncclSum, comm, stream), "AllReduce");
      stage.store(1);
      check.that(acclStreamSynchronize(stream) != acclSuccess, "the stream has not failed");
      check.that(failure_text(comm).find(who) != std::string::npos, failure_text(comm));
    }
    abort_in_time(comm, check);
    if (stream != nullptr) check.ok(acclStreamDestroy(stream), "stream");
    return check.code();
  });
}

// The other has met this rank and hangs, stopped, for longer than the test.
TEST(AbortAlone, WhileThePeerIsStopped) {
  Ranks job;
  job.start(2, [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 2, rank, board), "init")) return 1;
    board.slots[static_cast<size_t>(rank)].stage.store(1);
    while (board.go.load() == 0) rest_ms(1);
    std::vector<int> data(1 << 20);
    acclStream_t stream = nullptr;
    check.ok(acclStreamCreate(&stream), "stream");
    check.ok(ncclAllReduce(data.data(), data.data(), data.size(), ncclInt, ncclSum, comm, stream),
             "call");
    rest_ms(50);
    abort_in_time(comm, check);
    check.ok(acclStreamSynchronize(stream), "the stream is the user's again");
    check.ok(acclStreamDestroy(stream), "stream");
    return check.code();
  });
  for (int rank = 0; rank < 2; rank++) {
    ASSERT_TRUE(job.await_stage(rank, 1, std::chrono::seconds(20)));
  }
  job.kill(1, SIGSTOP);
  job.board().go.store(1);
  while (job.board().slots[0].stage.load() == 0) rest_ms(1);
  rest_ms(1500);
  job.kill(1, SIGKILL);
  EXPECT_EQ(job.wait(std::chrono::seconds(10)), (ExitCodes{0, 128 + SIGKILL}));
}

TEST_P(AbortTest, FromAnotherThreadWhileAStreamIsAwaited) {
  run(2, [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 2, rank, board), "init")) return 1;
    if (rank == 1) {
      while (board.go.load() == 0) rest_ms(1);
      check.that(failure_text(comm).find("rank 0 called ncclCommAbort") != std::string::npos,
                 failure_text(comm));
      abort_in_time(comm, check);
      return check.code();
    }
    acclStream_t stream = nullptr;
    check.ok(acclStreamCreate(&stream), "stream");
    int data = 1;
    check.ok(ncclAllReduce(&data, &data, 1, ncclInt, ncclSum, comm, stream), "AllReduce");
    std::thread other([&] {
      rest_ms(50);
      abort_in_time(comm, check);
    });
    static_cast<void>(acclStreamSynchronize(stream));  // returns: that is all that matters
    other.join();
    rest_ms(200);
    board.go.store(1);
    check.ok(acclStreamDestroy(stream), "stream");
    return check.code();
  });
}

TEST_P(AbortTest, InsideAGroupOfSendsAndReceives) {
  run(2, [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 2, rank, board), "init")) return 1;
    if (rank == 1) {
      rest_ms(100);
      abort_in_time(comm, check);
      return check.code();
    }
    std::vector<char> data(2 << 20);
    ncclGroupStart();
    ncclSend(data.data(), 1 << 20, ncclChar, 1, comm, nullptr);
    ncclRecv(data.data() + (1 << 20), 1 << 20, ncclChar, 1, comm, nullptr);
    check.refused(ncclGroupEnd(), ncclRemoteError, {"rank 1 called ncclCommAbort"}, "group");
    abort_in_time(comm, check);
    return check.code();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, AbortTest,
                         testing::Values(RankKind::kProcesses, RankKind::kThreads),
                         [](const auto& instance) { return name_of(instance.param); });

// One thread drives all ranks: one of them is aborted, the group of the others says so.
TEST(AbortAlone, OneThreadDrivesAllRanks) {
  EXPECT_EQ(Ranks::run(1,
                       [](int, Blackboard&) {
                         constexpr size_t kRanks = 4;
                         RankCheck check(0);
                         std::array<ncclComm_t, kRanks> comms{};
                         if (!check.ok(ncclCommInitAll(comms.data(), kRanks, nullptr), "init"))
                           return 1;
                         std::array<int, kRanks> data = {1, 1, 1, 1};
                         const auto sum = [&](size_t ranks) {
                           ncclGroupStart();
                           for (size_t i = 0; i < ranks; i++) {
                             ncclAllReduce(&data[i], &data[i], 1, ncclInt, ncclSum, comms[i],
                                           nullptr);
                           }
                           return ncclGroupEnd();
                         };
                         check.ok(sum(kRanks), "group");
                         check.that(data[2] == kRanks, "wrong sum");
                         abort_in_time(comms[3], check);
                         check.refused(sum(kRanks - 1), ncclRemoteError,
                                       {"rank 3 called ncclCommAbort"}, "group of the others");
                         for (size_t i = 0; i < kRanks - 1; i++) abort_in_time(comms[i], check);
                         return check.code();
                       }),
            ExitCodes{0});
}

}  // namespace
}  // namespace accl
