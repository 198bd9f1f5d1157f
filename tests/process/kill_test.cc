// A killed rank is reported by the others, by name, wherever they are: idle, waiting inside a call,
// or away while the engine works.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "accl/device.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

constexpr int kRanks = 3;
constexpr int kVictim = 1;
constexpr double kReportSeconds = 3;

// What a survivor does after everybody is there; the victim hangs.
using Survivor = std::function<void(ncclComm_t comm, Blackboard& board, RankCheck& check)>;

ncclResult_t sum(ncclComm_t comm, int* data, cudaStream_t stream = nullptr) {
  return ncclAllReduce(data, data, 1, ncclInt, ncclSum, comm, stream);
}

// Until the parent says that the victim is dead.
void await_death(Blackboard& board) {
  while (board.go.load() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void expect_named(ncclComm_t comm, RankCheck& check) {
  ncclResult_t code = ncclSuccess;
  const std::string text = failure_text(comm, &code);
  check.that(code == ncclRemoteError, "async error " + std::to_string(code));
  check.that(
      text.find("rank 1 (pid ") != std::string::npos && text.find("died") != std::string::npos,
      "'" + text + "' does not name rank 1");
}

int rank_body(int rank, Blackboard& board, const Survivor& survive) {
  RankCheck check(rank);
  ncclComm_t comm = nullptr;
  if (!check.ok(join_ranks(&comm, kRanks, rank, board), "init")) return 1;
  int data = 1;
  check.ok(sum(comm, &data), "AllReduce");
  check.that(data == kRanks, "wrong sum");
  board.slots[static_cast<size_t>(rank)].stage.store(1);
  if (rank == kVictim) {
    for (;;) pause();
  }
  const Stopwatch watch;
  survive(comm, board, check);
  check.that(watch.seconds() < allowed(kReportSeconds) + 0.2, "reported late");
  expect_named(comm, check);
  say(rank, board, failure_text(comm));
  const Stopwatch aborting;
  check.ok(ncclCommAbort(comm), "abort");
  check.that(aborting.seconds() < allowed(1), "abort takes long");
  return check.code();
}

// Kills the victim `delay` after everybody has met.
void run(const Survivor& survive,
         std::chrono::milliseconds delay = std::chrono::milliseconds(100)) {
  Ranks job;
  job.start(kRanks, [&](int rank, Blackboard& board) { return rank_body(rank, board, survive); });
  for (int rank = 0; rank < kRanks; rank++) {
    ASSERT_TRUE(job.await_stage(rank, 1, std::chrono::seconds(20)));
  }
  std::this_thread::sleep_for(delay);
  job.kill(kVictim, SIGKILL);
  job.board().go.store(1);
  EXPECT_EQ(job.wait(std::chrono::seconds(20)), (ExitCodes{0, 128 + SIGKILL, 0}));
  EXPECT_EQ(job.text(0), job.text(2));
}

TEST(Kill, IdleShowsWithoutACall) {
  run([](ncclComm_t comm, Blackboard& board, RankCheck& check) {
    await_death(board);
    const Stopwatch watch;
    while (failure_text(comm).empty() && watch.seconds() < 10) std::this_thread::yield();
    check.that(watch.seconds() < allowed(kReportSeconds), "the death shows late");
  });
}

TEST(Kill, IdleThenTheNextCallFails) {
  run([](ncclComm_t comm, Blackboard& board, RankCheck& check) {
    await_death(board);
    int data = 1;
    check.refused(sum(comm, &data), ncclRemoteError, {"rank 1 (pid ", "died"}, "next call");
  });
}

TEST(Kill, InsideASmallCall) {
  run([](ncclComm_t comm, Blackboard&, RankCheck& check) {
    int data = 1;
    check.refused(sum(comm, &data), ncclRemoteError, {"rank 1 (pid ", "died"}, "blocked call");
  });
}

TEST(Kill, InsideALargeCall) {
  run([](ncclComm_t comm, Blackboard&, RankCheck& check) {
    std::vector<float> data(1 << 20);
    check.refused(
        ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr),
        ncclRemoteError, {"rank 1 (pid ", "died"}, "blocked call");
  });
}

TEST(Kill, InsideAReceive) {
  run([](ncclComm_t comm, Blackboard&, RankCheck& check) {
    int data = 0;
    check.refused(ncclRecv(&data, 1, ncclInt, kVictim, comm, nullptr), ncclRemoteError,
                  {"rank 1 (pid ", "died"}, "blocked receive");
  });
}

TEST(Kill, InsideTheEngineWhileTheCallerIsAway) {
  run([](ncclComm_t comm, Blackboard& board, RankCheck& check) {
    acclStream_t stream = nullptr;
    check.ok(acclStreamCreate(&stream), "stream");
    int data = 1;
    check.ok(sum(comm, &data, stream), "AllReduce on a stream");
    await_death(board);
    const Stopwatch watch;
    while (failure_text(comm).empty() && watch.seconds() < 10) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    check.that(watch.seconds() < allowed(kReportSeconds), "the death shows late");
    check.that(acclStreamSynchronize(stream) != acclSuccess, "the stream has not failed");
    check.refused(sum(comm, &data, stream), ncclRemoteError, {"rank 1 (pid "}, "next call");
  });
}

TEST(Kill, WhileTheStreamIsAwaited) {
  run([](ncclComm_t comm, Blackboard&, RankCheck& check) {
    acclStream_t stream = nullptr;
    check.ok(acclStreamCreate(&stream), "stream");
    int data = 1;
    check.ok(sum(comm, &data, stream), "AllReduce on a stream");
    check.that(acclStreamSynchronize(stream) != acclSuccess, "the stream has not failed");
  });
}

// Two processes with two ranks each: two ranks die at once, and one text names one of them.
TEST(Kill, AProcessOfTwoRanks) {
  constexpr int kAll = 4;
  const auto thread_body = [](int rank, Blackboard& board, RankCheck& check) {
    ncclComm_t comm = nullptr;
    if (!check.ok(ncclCommInitRank(&comm, kAll, board.id, rank), "init")) return;
    int data = 1;
    check.ok(sum(comm, &data), "AllReduce");
    board.slots[static_cast<size_t>(rank)].stage.store(1);
    if (rank >= 2) {
      for (;;) pause();
    }
    check.that(sum(comm, &data) == ncclRemoteError, "another result after the death");
    const std::string text = failure_text(comm);
    check.that(text.find("rank 2 (pid ") != std::string::npos ||
                   text.find("rank 3 (pid ") != std::string::npos,
               "'" + text + "' names nobody");
    check.ok(ncclCommAbort(comm), "abort");
  };
  Ranks job;
  job.start(2, [&](int process, Blackboard& board) {
    static_cast<void>(shared_id(process, board));
    RankCheck first(2 * process);
    RankCheck second(2 * process + 1);
    std::thread other([&] { thread_body(2 * process, board, first); });
    thread_body(2 * process + 1, board, second);
    other.join();
    return first.code() + second.code();
  });
  for (int rank = 0; rank < kAll; rank++) {
    ASSERT_TRUE(job.await_stage(rank, 1, std::chrono::seconds(20)));
  }
  job.kill(1, SIGKILL);
  const Stopwatch watch;
  EXPECT_EQ(job.wait(std::chrono::seconds(20)), (ExitCodes{0, 128 + SIGKILL}));
  EXPECT_LT(watch.seconds(), allowed(kReportSeconds));
}

}  // namespace
}  // namespace accl
