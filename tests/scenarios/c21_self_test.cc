// C21: a rank sends to itself.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/rank_check.h"

namespace accl {
namespace {

void exchange_with_oneself(int rank, size_t bytes, ncclComm_t comm, cudaStream_t stream,
                           RankCheck& check) {
  std::vector<uint8_t> in(bytes);
  for (size_t i = 0; i < bytes; i++) in[i] = static_cast<uint8_t>(i * 31 + i / 251);
  std::vector<uint8_t> out(bytes, 0);
  check.ok(ncclGroupStart(), "GroupStart");
  check.ok(ncclSend(in.data(), bytes, ncclUint8, rank, comm, stream), "Send");
  check.ok(ncclRecv(out.data(), bytes, ncclUint8, rank, comm, stream), "Recv");
  check.ok(ncclGroupEnd(), "GroupEnd");
  if (stream != nullptr) check.ok(acclStreamSynchronize(stream), "synchronise");
  check.that(in == out, std::to_string(bytes) + " bytes to oneself differ");
}

void several_to_oneself(int rank, ncclComm_t comm, RankCheck& check) {
  int in[3] = {1, 2, 3};
  int out[3] = {};
  check.ok(ncclGroupStart(), "GroupStart");
  for (int& value : out) check.ok(ncclRecv(&value, 1, ncclInt, rank, comm, nullptr), "Recv");
  for (int& value : in) check.ok(ncclSend(&value, 1, ncclInt, rank, comm, nullptr), "Send");
  check.ok(ncclGroupEnd(), "GroupEnd");
  check.that(out[0] == 1 && out[1] == 2 && out[2] == 3, "messages to oneself change their order");
}

void alone_is_an_error(int rank, ncclComm_t comm, RankCheck& check) {
  int value = 1;
  check.refused(ncclSend(&value, 1, ncclInt, rank, comm, nullptr), ncclInvalidUsage,
                {"ncclSend", "sends to itself without a matching ncclRecv"}, "lone Send");
  check.refused(ncclRecv(&value, 1, ncclInt, rank, comm, nullptr), ncclInvalidUsage,
                {"ncclRecv", "receives from itself without a matching ncclSend"}, "lone Recv");
  int other[2] = {};
  check.ok(ncclGroupStart(), "GroupStart");
  check.ok(ncclSend(&value, 1, ncclInt, rank, comm, nullptr), "Send");
  check.ok(ncclRecv(other, 2, ncclInt, rank, comm, nullptr), "Recv");
  check.refused(ncclGroupEnd(), ncclInvalidUsage, {"sends 4 bytes to itself and receives 8"},
                "sizes that differ");
}

class ScenarioC21 : public testing::TestWithParam<std::tuple<RankKind, int>> {};

TEST_P(ScenarioC21, SendToOneself) {
  const auto [kind, ranks] = GetParam();
  EXPECT_TRUE(run_with_comm(kind, ranks, [](int rank, ncclComm_t comm, RankCheck& check) {
    acclStream_t stream = nullptr;
    check.ok(acclStreamCreate(&stream), "stream");
    for (size_t bytes = 1; bytes <= size_t{32} << 20; bytes *= 8) {
      exchange_with_oneself(rank, bytes, comm, nullptr, check);
      exchange_with_oneself(rank, bytes + 1, comm, stream, check);
    }
    several_to_oneself(rank, comm, check);
    alone_is_an_error(rank, comm, check);
    exchange_with_oneself(rank, 1000, comm, nullptr, check);
    check.ok(acclStreamDestroy(stream), "stream");
  }));
}

INSTANTIATE_TEST_SUITE_P(Ranks, ScenarioC21,
                         testing::Combine(testing::Values(RankKind::kProcesses, RankKind::kThreads),
                                          testing::Values(1, 3)));

}  // namespace
}  // namespace accl
