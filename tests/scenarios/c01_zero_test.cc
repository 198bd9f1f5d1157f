// C01: count zero everywhere. Nothing is touched, nobody waits, later operations are in order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/rank_check.h"

namespace accl {
namespace {

constexpr int kRanks = 4;

void all_collectives_with_nothing(ncclComm_t comm, cudaStream_t stream, RankCheck& check) {
  for (int root = 0; root < kRanks; root++) {
    check.ok(ncclBroadcast(nullptr, nullptr, 0, ncclFloat, root, comm, stream), "Broadcast");
    check.ok(ncclBcast(nullptr, 0, ncclInt8, root, comm, stream), "Bcast");
    check.ok(ncclReduce(nullptr, nullptr, 0, ncclHalf, ncclMax, root, comm, stream), "Reduce");
  }
  check.ok(ncclAllReduce(nullptr, nullptr, 0, ncclFloat, ncclSum, comm, stream), "AllReduce");
  check.ok(ncclAllGather(nullptr, nullptr, 0, ncclDouble, comm, stream), "AllGather");
  check.ok(ncclReduceScatter(nullptr, nullptr, 0, ncclInt64, ncclAvg, comm, stream),
           "ReduceScatter");
  check.ok(ncclAlltoAll(nullptr, nullptr, 0, ncclUint8, comm, stream), "AlltoAll");
}

void nothing_to_everybody(ncclComm_t comm, cudaStream_t stream, RankCheck& check) {
  check.ok(ncclGroupStart(), "GroupStart");
  for (int peer = 0; peer < kRanks; peer++) {
    check.ok(ncclSend(nullptr, 0, ncclFloat, peer, comm, stream), "Send");
    check.ok(ncclRecv(nullptr, 0, ncclFloat, peer, comm, stream), "Recv");
  }
  check.ok(ncclGroupEnd(), "GroupEnd");
}

void nothing_to_the_next(int rank, ncclComm_t comm, cudaStream_t stream, RankCheck& check) {
  const auto send = [&] {
    check.ok(ncclSend(nullptr, 0, ncclInt8, rank ^ 1, comm, stream), "lone Send");
  };
  const auto recv = [&] {
    check.ok(ncclRecv(nullptr, 0, ncclInt8, rank ^ 1, comm, stream), "lone Recv");
  };
  if (rank % 2 == 0) {
    send();
    recv();
  } else {
    recv();
    send();
  }
}

void sum_is_right(int rank, ncclComm_t comm, cudaStream_t stream, RankCheck& check) {
  thread_local int turn = 0;
  turn++;
  std::vector<int> in(1000, rank + turn);
  std::vector<int> out(1000, -1);
  check.ok(ncclAllReduce(in.data(), out.data(), 1000, ncclInt, ncclSum, comm, stream), "sum");
  if (stream != nullptr) check.ok(acclStreamSynchronize(stream), "synchronise");
  const int wanted = kRanks * (kRanks - 1) / 2 + kRanks * turn;
  check.that(out == std::vector<int>(1000, wanted), "a sum after nothing is wrong");
}

void buffers_stay_as_they_are(ncclComm_t comm, RankCheck& check) {
  std::vector<int> in(16, 7);
  std::vector<int> out(16, -7);
  check.ok(ncclAllReduce(in.data(), out.data(), 0, ncclInt, ncclSum, comm, nullptr), "AllReduce");
  check.ok(ncclAllGather(in.data(), out.data(), 0, ncclInt, comm, nullptr), "AllGather");
  check.ok(ncclBroadcast(in.data(), out.data(), 0, ncclInt, 1, comm, nullptr), "Broadcast");
  check.that(in == std::vector<int>(16, 7) && out == std::vector<int>(16, -7),
             "a call of count 0 wrote to a buffer");
}

TEST(ScenarioC01, CountZeroEverywhere) {
  EXPECT_TRUE(
      run_with_comm(RankKind::kProcesses, kRanks, [](int rank, ncclComm_t comm, RankCheck& check) {
        acclStream_t stream = nullptr;
        check.ok(acclStreamCreate(&stream), "stream");
        for (const cudaStream_t where : {cudaStream_t{}, stream}) {
          all_collectives_with_nothing(comm, where, check);
          sum_is_right(rank, comm, where, check);
          check.ok(ncclGroupStart(), "GroupStart");
          all_collectives_with_nothing(comm, where, check);
          check.ok(ncclGroupEnd(), "GroupEnd");
          nothing_to_everybody(comm, where, check);
          sum_is_right(rank, comm, where, check);
          nothing_to_the_next(rank, comm, where, check);
          sum_is_right(rank, comm, where, check);
        }
        buffers_stay_as_they_are(comm, check);
        check.ok(acclStreamDestroy(stream), "stream");
      }));
}

// An empty message keeps its place among full ones.
TEST(ScenarioC01, EmptyMessagesKeepTheirPlace) {
  EXPECT_TRUE(
      run_with_comm(RankKind::kProcesses, 2, [](int rank, ncclComm_t comm, RankCheck& check) {
        for (int i = 0; i < 100; i++) {
          const size_t count = i % 3 == 1 ? 0 : 1;
          int value = i;
          if (rank == 0) {
            check.ok(ncclSend(&value, count, ncclInt, 1, comm, nullptr), "Send");
          } else {
            value = -1;
            check.ok(ncclRecv(&value, count, ncclInt, 0, comm, nullptr), "Recv");
            check.that(value == (count == 0 ? -1 : i),
                       "message " + std::to_string(i) + " is wrong");
          }
        }
      }));
}

}  // namespace
}  // namespace accl
