// B15: more ranks than devices work; where sharing is forbidden, every rank hears who shares what.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "accl/device.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

constexpr int kRanks = 4;

void all_collectives(int rank, ncclComm_t comm, cudaStream_t stream, RankCheck& check) {
  std::array<int, kRanks> in{};
  std::array<std::array<int, kRanks>, 6> out{};
  for (int i = 0; i < kRanks; i++) in[static_cast<size_t>(i)] = 10 * rank + i;
  check.ok(ncclGroupStart(), "group");
  ncclAllReduce(in.data(), out[0].data(), kRanks, ncclInt, ncclSum, comm, stream);
  ncclReduce(in.data(), out[1].data(), kRanks, ncclInt, ncclSum, 1, comm, stream);
  ncclBroadcast(in.data(), out[2].data(), kRanks, ncclInt, 2, comm, stream);
  ncclAllGather(in.data(), out[3].data(), 1, ncclInt, comm, stream);
  ncclReduceScatter(in.data(), out[4].data(), 1, ncclInt, ncclSum, comm, stream);
  ncclSend(in.data(), 1, ncclInt, (rank + 1) % kRanks, comm, stream);
  ncclRecv(out[5].data(), 1, ncclInt, (rank + kRanks - 1) % kRanks, comm, stream);
  check.ok(ncclGroupEnd(), "group of all collectives");
  if (stream != nullptr) check.ok(acclStreamSynchronize(stream), "synchronise");
  for (int i = 0; i < kRanks; i++) {
    const auto at = static_cast<size_t>(i);
    check.that(out[0][at] == 60 + 4 * i, "AllReduce");
    check.that(rank != 1 || out[1][at] == 60 + 4 * i, "Reduce");
    check.that(out[2][at] == 20 + i, "Broadcast");
    check.that(out[3][at] == 10 * i, "AllGather");
  }
  check.that(out[4][0] == 60 + 4 * rank, "ReduceScatter");
  check.that(out[5][0] == 10 * ((rank + kRanks - 1) % kRanks), "Recv");
}

class ScenarioB15 : public testing::TestWithParam<int> {
 protected:
  static void set_devices(int count) {
    setenv("ACCL_HOST_DEVICES", std::to_string(count).c_str(), 1);
  }
};

TEST_P(ScenarioB15, MoreRanksThanDevices) {
  const int devices = GetParam();
  const auto body = [&](int rank, Blackboard& board) {
    RankCheck check(rank);
    set_devices(devices);
    int count = 0;
    check.ok(acclGetDeviceCount(&count), "count");
    check.that(count == devices, "another number of devices");
    check.ok(acclSetDevice(rank % devices), "device");
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, kRanks, rank, board), "init")) return 1;
    acclStream_t stream = nullptr;
    check.ok(acclStreamCreate(&stream), "stream");
    all_collectives(rank, comm, nullptr, check);
    all_collectives(rank, comm, stream, check);
    check.ok(acclStreamDestroy(stream), "stream");
    check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  };
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, kRanks, body));
}

int all_in_one_process(int devices, const int* list) {
  RankCheck check(0);
  setenv("ACCL_HOST_DEVICES", std::to_string(devices).c_str(), 1);
  std::array<ncclComm_t, kRanks> comms{};
  if (!check.ok(ncclCommInitAll(comms.data(), kRanks, list), "init")) return 1;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; rank++) {
    int device = -1;
    check.ok(ncclCommCuDevice(comms[static_cast<size_t>(rank)], &device), "device");
    check.that(device == (list ? list[rank] : rank % devices), "on another device");
    threads.emplace_back(
        [&, rank] { all_collectives(rank, comms[static_cast<size_t>(rank)], nullptr, check); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const ncclComm_t comm : comms) check.ok(ncclCommDestroy(comm), "destroy");
  return check.code();
}

TEST_P(ScenarioB15, InitAllOnOneDevice) {
  const std::array<int, kRanks> list = {0, 0, 0, 0};
  EXPECT_EQ(
      Ranks::run(1, [&](int, Blackboard&) { return all_in_one_process(GetParam(), list.data()); }),
      ExitCodes{0});
}

TEST_P(ScenarioB15, InitAllWithoutAList) {
  EXPECT_EQ(
      Ranks::run(1, [&](int, Blackboard&) { return all_in_one_process(GetParam(), nullptr); }),
      ExitCodes{0});
}

TEST_P(ScenarioB15, SharingForbidden) {
  const int devices = GetParam();
  Ranks job;
  job.start(kRanks, [&](int rank, Blackboard& board) {
    RankCheck check(rank);
    set_devices(devices);
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "0", 1);
    check.ok(acclSetDevice(rank % devices), "device");
    ncclComm_t comm = nullptr;
    const std::string who = devices == 1 ? "0-3" : "0, 2";
    check.refused(join_ranks(&comm, kRanks, rank, board), ncclInvalidUsage,
                  {who, "device 0", "host ", "NCCL_MULTI_RANK_GPU_ENABLE"}, "sharing");
    check.that(comm == nullptr, "a communicator was given out");
    say(rank, board, ncclGetLastError(nullptr));
    return check.code();
  });
  EXPECT_EQ(job.wait(std::chrono::seconds(20)), ExitCodes(kRanks, 0));
  for (int rank = 1; rank < kRanks; rank++) EXPECT_EQ(job.text(rank), job.text(0));
}

INSTANTIATE_TEST_SUITE_P(Devices, ScenarioB15, testing::Values(1, 2));

}  // namespace
}  // namespace accl
