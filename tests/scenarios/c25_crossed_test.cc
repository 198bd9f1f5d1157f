// C25: two communicators over the same ranks, used in opposite order.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"

namespace accl {
namespace {

constexpr size_t kCount = (size_t{16} << 20) / sizeof(int);
constexpr int kTurns = test::kSanitized ? 10 : 200;

// The id of the second communicator travels by the first.
bool join_twice(int rank, Blackboard& board, ncclComm_t (&comms)[2], RankCheck& check) {
  if (!check.ok(join_ranks(&comms[0], 2, rank, board), "first init")) return false;
  ncclUniqueId id{};
  if (rank == 0) check.ok(ncclGetUniqueId(&id), "id");
  check.ok(ncclBcast(&id, sizeof id, ncclInt8, 0, comms[0], nullptr), "id");
  return check.ok(ncclCommInitRank(&comms[1], 2, id, rank), "second init");
}

// A buffer that keeps a value that is known: each turn doubles and halves it.
struct Data {
  std::vector<int> in = std::vector<int>(kCount);
  std::vector<int> out = std::vector<int>(kCount);
  void set(int value) { in.front() = in[kCount / 2] = in.back() = value; }
  bool is(int value) const {
    return out.front() == value && out[kCount / 2] == value && out.back() == value;
  }
};

template <class Body>
int with_both(int rank, Blackboard& board, const Body& body) {
  RankCheck check(rank);
  ncclComm_t comms[2] = {};
  if (!join_twice(rank, board, comms, check)) return 1;
  body(comms, check);
  for (const ncclComm_t comm : comms) check.ok(ncclCommDestroy(comm), "destroy");
  return check.code();
}

class ScenarioC25 : public testing::TestWithParam<RankKind> {};

TEST_P(ScenarioC25, CrossedFromTwoThreads) {
  const auto one = [](int rank, int which, ncclComm_t comm, int* code) {
    RankCheck check(rank);
    acclStream_t stream = nullptr;
    check.ok(acclStreamCreate(&stream), "stream");
    Data data;
    for (int turn = 0; turn < kTurns && check.code() == 0; turn++) {
      data.set(turn + rank + which);
      check.ok(ncclAllReduce(data.in.data(), data.out.data(), kCount, ncclInt, ncclSum, comm,
                             turn % 2 == 0 ? stream : nullptr),
               "AllReduce");
      check.ok(acclStreamSynchronize(stream), "synchronise");
      check.that(data.is(2 * (turn + which) + 1), "wrong sum in turn " + std::to_string(turn));
    }
    check.ok(acclStreamDestroy(stream), "stream");
    *code = check.code();
  };
  EXPECT_TRUE(run_ranks(
      GetParam(), 2,
      [&](int rank, Blackboard& board) {
        return with_both(rank, board, [&](ncclComm_t(&comms)[2], RankCheck& check) {
          int codes[2] = {-1, -1};
          // Rank 0 starts X then Y, rank 1 Y then X.
          std::thread first(one, rank, rank, comms[rank], &codes[0]);
          std::thread second(one, rank, 1 - rank, comms[1 - rank], &codes[1]);
          first.join();
          second.join();
          check.that(codes[0] == 0 && codes[1] == 0, "a thread failed");
        });
      },
      std::chrono::seconds(100)));
}

TEST_P(ScenarioC25, CrossedInOneGroup) {
  EXPECT_TRUE(run_ranks(
      GetParam(), 2,
      [](int rank, Blackboard& board) {
        return with_both(rank, board, [rank](ncclComm_t(&comms)[2], RankCheck& check) {
          Data data[2];
          const int turns = kTurns / 10;
          for (int turn = 0; turn < turns && check.code() == 0; turn++) {
            check.ok(ncclGroupStart(), "GroupStart");
            for (int i = 0; i < 2; i++) {
              const int which = i ^ rank;
              Data& d = data[which];
              d.set(turn + rank + which);
              check.ok(ncclAllReduce(d.in.data(), d.out.data(), kCount, ncclInt, ncclSum,
                                     comms[which], nullptr),
                       "AllReduce");
            }
            check.ok(ncclGroupEnd(), "GroupEnd");
            for (int which = 0; which < 2; which++) {
              check.that(data[which].is(2 * (turn + which) + 1), "wrong sum");
            }
          }
        });
      },
      std::chrono::seconds(100)));
}

// From one thread on real streams nothing blocks either: the calls return while peers are
// elsewhere.
TEST_P(ScenarioC25, CrossedFromOneThreadOnStreams) {
  EXPECT_TRUE(run_ranks(
      GetParam(), 2,
      [](int rank, Blackboard& board) {
        return with_both(rank, board, [rank](ncclComm_t(&comms)[2], RankCheck& check) {
          acclStream_t streams[2] = {};
          for (acclStream_t& stream : streams) check.ok(acclStreamCreate(&stream), "stream");
          Data data[2];
          for (int turn = 0; turn < kTurns / 10 && check.code() == 0; turn++) {
            for (int i = 0; i < 2; i++) {
              const int which = i ^ rank;
              data[which].set(turn + rank + which);
              check.ok(ncclAllReduce(data[which].in.data(), data[which].out.data(), kCount, ncclInt,
                                     ncclSum, comms[which], streams[which]),
                       "AllReduce");
            }
            for (int which = 0; which < 2; which++) {
              check.ok(acclStreamSynchronize(streams[which ^ rank]), "synchronise");
            }
            check.that(data[0].is(2 * turn + 1) && data[1].is(2 * turn + 3), "wrong sum");
          }
          for (const acclStream_t stream : streams) check.ok(acclStreamDestroy(stream), "stream");
        });
      },
      std::chrono::seconds(100)));
}

// Blocking calls in crossed order from one thread cannot complete: the time-out says who waits
// where.
TEST(ScenarioC25Blocked, CrossedBlockingCallsAreReported) {
  Ranks ranks;
  ranks.start(2, [](int rank, Blackboard& board) {
    setenv("ACCL_OP_TIMEOUT", "2", 1);
    RankCheck check(rank);
    ncclComm_t comms[2] = {};
    if (!join_twice(rank, board, comms, check)) return 1;
    int in = 1;
    int out = 0;
    const ncclResult_t result = ncclAllReduce(&in, &out, 1, ncclInt, ncclSum, comms[rank], nullptr);
    check.refused(result, ncclRemoteError, {"time-out", "AllReduce", "waits for rank"}, "crossed");
    say(rank, board, failure_text(comms[rank]));
    // An abort is told to the peers at once: each rank first gets its own time-out.
    board.slots[static_cast<size_t>(rank)].stage.store(1);
    while (board.slots[static_cast<size_t>(1 - rank)].stage.load() < 1) std::this_thread::yield();
    for (const ncclComm_t comm : comms) check.ok(ncclCommAbort(comm), "abort");
    return check.code();
  });
  EXPECT_EQ(ranks.wait(std::chrono::seconds(30)), ExitCodes(2, 0));
  EXPECT_NE(ranks.text(0).find("waits for rank 1"), std::string::npos) << ranks.text(0);
  EXPECT_NE(ranks.text(1).find("waits for rank 0"), std::string::npos) << ranks.text(1);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ScenarioC25,
                         testing::Values(RankKind::kProcesses, RankKind::kThreads),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace accl
