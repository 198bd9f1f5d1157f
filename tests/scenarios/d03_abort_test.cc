// D03: another thread aborts a rank that waits for a peer that never comes.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "src/base/rng.h"
#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

constexpr int kRepeats = test::kSanitized ? 60 : 500;
// The other kinds of waiting, which share most of the way.
constexpr int kMoreRepeats = test::kSanitized ? 30 : 150;

// Aborts `comm` once it is there, after up to 50 ms. The slowest abort so far is kept.
class Aborter {
 public:
  std::thread start(ncclComm_t* comm, RankCheck& check) {
    const uint64_t delay_us = rng_.below(50000);
    return std::thread([=, this, &check] {
      std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
      ncclComm_t handle = nullptr;
      while ((handle = __atomic_load_n(comm, __ATOMIC_ACQUIRE)) == nullptr)
        std::this_thread::yield();
      const Stopwatch watch;
      check.ok(ncclCommAbort(handle), "abort");
      slowest_ = std::max(slowest_, watch.seconds());
    });
  }
  double slowest() const { return slowest_; }

 private:
  Rng rng_{3};
  double slowest_ = 0;
};

// Rank 0 waits in an AllReduce; rank 1 has met it and does nothing but leave when told.
int aborted_in_allreduce(int repeats, int rank, Blackboard& board) {
  RankCheck check(rank);
  Aborter aborter;
  for (int turn = 1; turn <= repeats; turn++) {
    if (rank == 0) {
      ncclGetUniqueId(&board.id);
      board.id_ready.store(turn);
    }
    while (board.id_ready.load() < turn) std::this_thread::yield();
    ncclComm_t comm = nullptr;
    if (!check.ok(ncclCommInitRank(&comm, 2, board.id, rank), "init")) return 1;
    if (rank == 0) {
      std::thread other = aborter.start(&comm, check);
      int data = 1;
      const ncclResult_t result = ncclAllReduce(&data, &data, 1, ncclInt, ncclSum, comm, nullptr);
      check.that(result != ncclSuccess, "the AllReduce succeeded");
      other.join();
      board.go.store(turn);
    } else {
      while (board.go.load() < turn) std::this_thread::sleep_for(std::chrono::microseconds(100));
      check.ok(ncclCommAbort(comm), "abort of the idle rank");
    }
  }
  check.that(aborter.slowest() < allowed(1), std::to_string(aborter.slowest()) + " s for an abort");
  return check.code();
}

TEST(ScenarioD03, AbortWhileBlockedInAllReduce) {
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 2, [](int rank, Blackboard& board) {
    return aborted_in_allreduce(kRepeats, rank, board);
  }));
}

TEST(ScenarioD03, AbortWhileBlockedInAllReduceWithThreads) {
  EXPECT_TRUE(run_ranks(RankKind::kThreads, 2, [](int rank, Blackboard& board) {
    return aborted_in_allreduce(kMoreRepeats, rank, board);
  }));
}

TEST(ScenarioD03, AbortWhileBlockedInInit) {
  const auto body = [](int rank, Blackboard&) {
    RankCheck check(rank);
    Aborter aborter;
    for (int turn = 0; turn < kMoreRepeats; turn++) {
      ncclUniqueId id{};
      check.ok(ncclGetUniqueId(&id), "id");
      ncclComm_t comm = nullptr;
      ncclComm_t seen = nullptr;
      ncclResult_t result = ncclSuccess;
      // The handle is there before the ranks have met, and is taken back when they do not.
      std::thread waiter([&] { result = ncclCommInitRank(&comm, 2, id, turn % 2); });
      while ((seen = __atomic_load_n(&comm, __ATOMIC_ACQUIRE)) == nullptr)
        std::this_thread::yield();
      std::thread other = aborter.start(&seen, check);
      other.join();
      waiter.join();
      check.that(result != ncclSuccess, "the init succeeded");
    }
    check.that(aborter.slowest() < allowed(1),
               std::to_string(aborter.slowest()) + " s for an abort");
    return check.code();
  };
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 1, body));
}

}  // namespace
}  // namespace accl
