// C18: bad arguments are refused where they are passed, with a text that names argument and value.
// The communicator stays usable and the peers notice nothing.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/rank_check.h"

namespace accl {
namespace {

constexpr int kRanks = 2;

template <class T>
T bad(int value) {
  return static_cast<T>(value);
}

// Only rank 0 makes these; rank 1 meanwhile does ordinary work.
void bad_collectives(ncclComm_t comm, cudaStream_t stream, RankCheck& check) {
  int in[8] = {};
  int out[8] = {};
  const auto refused = [&](ncclResult_t result, std::vector<std::string> parts) {
    check.refused(result, ncclInvalidArgument, parts, parts[0] + " " + parts[1]);
  };
  for (const int root : {-1, kRanks}) {
    const std::string text = "root " + std::to_string(root) + " is not in 0..1";
    refused(ncclBroadcast(in, out, 2, ncclInt, root, comm, stream), {"ncclBroadcast", text});
    refused(ncclBcast(in, 2, ncclInt, root, comm, stream), {"ncclBcast", text});
    refused(ncclReduce(in, out, 2, ncclInt, ncclSum, root, comm, stream), {"ncclReduce", text});
  }
  for (const int type : {-1, 12, 99}) {
    const auto t = bad<ncclDataType_t>(type);
    const std::string text = "datatype " + std::to_string(type) + " is not in 0..11";
    refused(ncclAllReduce(in, out, 2, t, ncclSum, comm, stream), {"ncclAllReduce", text});
    refused(ncclAllGather(in, out, 2, t, comm, stream), {"ncclAllGather", text});
    refused(ncclReduceScatter(in, out, 2, t, ncclSum, comm, stream), {"ncclReduceScatter", text});
    refused(ncclAlltoAll(in, out, 2, t, comm, stream), {"ncclAlltoAll", text});
    refused(ncclSend(in, 2, t, 1, comm, stream), {"ncclSend", text});
    refused(ncclRecv(out, 2, t, 1, comm, stream), {"ncclRecv", text});
  }
  for (const int op : {-1, 5, 1000, 0x7fffffff}) {
    const auto o = bad<ncclRedOp_t>(op);
    const std::string text = "op " + std::to_string(op) + " is neither";
    refused(ncclAllReduce(in, out, 2, ncclInt, o, comm, stream), {"ncclAllReduce", text});
    refused(ncclReduceScatter(in, out, 2, ncclInt, o, comm, stream), {"ncclReduceScatter", text});
    refused(ncclReduce(in, out, 2, ncclInt, o, 0, comm, stream), {"ncclReduce", text});
  }
  for (const int peer : {-1, kRanks, 1000}) {
    const std::string text = "peer " + std::to_string(peer) + " is not in 0..1";
    refused(ncclSend(in, 2, ncclInt, peer, comm, stream), {"ncclSend", text});
    refused(ncclRecv(out, 2, ncclInt, peer, comm, stream), {"ncclRecv", text});
  }
  refused(ncclAllReduce(in, out, SIZE_MAX, ncclInt, ncclSum, comm, stream),
          {"ncclAllReduce", "count 18446744073709551615"});
  refused(ncclAllGather(in, out, SIZE_MAX / 4, ncclInt, comm, stream), {"ncclAllGather", "count"});
  refused(ncclSend(in, SIZE_MAX / 2, ncclInt64, 1, comm, stream), {"ncclSend", "count"});
}

void null_buffers(ncclComm_t comm, cudaStream_t stream, RankCheck& check) {
  int in[8] = {};
  int out[8] = {};
  const auto no_in = [&](ncclResult_t result, const std::string& name) {
    check.refused(result, ncclInvalidArgument, {name, "sendbuff is NULL"}, name);
  };
  const auto no_out = [&](ncclResult_t result, const std::string& name) {
    check.refused(result, ncclInvalidArgument, {name, "recvbuff is NULL"}, name);
  };
  no_in(ncclAllReduce(nullptr, out, 2, ncclInt, ncclSum, comm, stream), "ncclAllReduce");
  no_out(ncclAllReduce(in, nullptr, 2, ncclInt, ncclSum, comm, stream), "ncclAllReduce");
  no_in(ncclAllGather(nullptr, out, 2, ncclInt, comm, stream), "ncclAllGather");
  no_out(ncclAllGather(in, nullptr, 2, ncclInt, comm, stream), "ncclAllGather");
  no_in(ncclReduceScatter(nullptr, out, 2, ncclInt, ncclSum, comm, stream), "ncclReduceScatter");
  no_out(ncclReduceScatter(in, nullptr, 2, ncclInt, ncclSum, comm, stream), "ncclReduceScatter");
  no_in(ncclAlltoAll(nullptr, out, 2, ncclInt, comm, stream), "ncclAlltoAll");
  no_out(ncclAlltoAll(in, nullptr, 2, ncclInt, comm, stream), "ncclAlltoAll");
  no_in(ncclBroadcast(nullptr, out, 2, ncclInt, 0, comm, stream), "ncclBroadcast");  // rank 0
  no_out(ncclBroadcast(in, nullptr, 2, ncclInt, 1, comm, stream), "ncclBroadcast");
  no_in(ncclBcast(nullptr, 2, ncclInt, 0, comm, stream), "ncclBcast");
  no_out(ncclReduce(in, nullptr, 2, ncclInt, ncclSum, 0, comm, stream), "ncclReduce");
  no_in(ncclReduce(nullptr, out, 2, ncclInt, ncclSum, 1, comm, stream), "ncclReduce");
  no_in(ncclSend(nullptr, 2, ncclInt, 1, comm, stream), "ncclSend");
  no_out(ncclRecv(nullptr, 2, ncclInt, 1, comm, stream), "ncclRecv");
}

void bad_streams(ncclComm_t comm, RankCheck& check) {
  int in[2] = {};
  int out[2] = {};
  acclStream_t freed = nullptr;
  check.ok(acclStreamCreate(&freed), "stream");
  check.ok(acclStreamDestroy(freed), "stream");
  int garbage[16] = {};
  const cudaStream_t streams[] = {freed, reinterpret_cast<cudaStream_t>(0x1),
                                  reinterpret_cast<cudaStream_t>(0x2),
                                  reinterpret_cast<cudaStream_t>(garbage)};
  for (const cudaStream_t stream : streams) {
    check.refused(ncclAllReduce(in, out, 2, ncclInt, ncclSum, comm, stream), ncclInvalidArgument,
                  {"ncclAllReduce", "is not a stream"}, "stream");
    check.refused(ncclSend(in, 2, ncclInt, 1, comm, stream), ncclInvalidArgument,
                  {"ncclSend", "is not a stream"}, "stream");
  }
}

void bad_communicators(RankCheck& check) {
  int in[2] = {};
  int out[2] = {};
  int number = 0;
  std::vector<char> garbage(4096, 'x');
  const ncclComm_t stranger = reinterpret_cast<ncclComm_t>(garbage.data() + 64);
  for (const ncclComm_t comm : {ncclComm_t{}, stranger, reinterpret_cast<ncclComm_t>(0x40)}) {
    const std::string text = comm == nullptr ? "comm is NULL" : "is not a communicator";
    const auto refused = [&](ncclResult_t result, const std::string& name) {
      check.refused(result, ncclInvalidArgument, {name, text}, name);
    };
    refused(ncclAllReduce(in, out, 2, ncclInt, ncclSum, comm, nullptr), "ncclAllReduce");
    refused(ncclAllReduce(in, out, 0, ncclInt, ncclSum, comm, nullptr), "ncclAllReduce");
    refused(ncclSend(in, 2, ncclInt, 1, comm, nullptr), "ncclSend");
    refused(ncclCommCount(comm, &number), "ncclCommCount");
    refused(ncclCommUserRank(comm, &number), "ncclCommUserRank");
    refused(ncclCommCuDevice(comm, &number), "ncclCommCuDevice");
    ncclResult_t state = ncclSuccess;
    refused(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
    ncclRedOp_t op = ncclSum;
    float scalar = 1;
    refused(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, ncclScalarHostImmediate, comm),
            "ncclRedOpCreatePreMulSum");
    if (comm == nullptr) continue;
    refused(ncclCommDestroy(comm), "ncclCommDestroy");
    refused(ncclCommAbort(comm), "ncclCommAbort");
    refused(ncclCommFinalize(comm), "ncclCommFinalize");
  }
}

void bad_questions(ncclComm_t comm, RankCheck& check) {
  const auto refused = [&](ncclResult_t result, const std::string& name, const std::string& text) {
    check.refused(result, ncclInvalidArgument, {name, text}, name);
  };
  refused(ncclGetVersion(nullptr), "ncclGetVersion", "NULL");
  refused(ncclGetUniqueId(nullptr), "ncclGetUniqueId", "uniqueId is NULL");
  refused(ncclCommCount(comm, nullptr), "ncclCommCount", "count is NULL");
  refused(ncclCommUserRank(comm, nullptr), "ncclCommUserRank", "rank is NULL");
  refused(ncclCommCuDevice(comm, nullptr), "ncclCommCuDevice", "device is NULL");
  refused(ncclCommGetAsyncError(comm, nullptr), "ncclCommGetAsyncError", "asyncError is NULL");
  refused(ncclMemAlloc(nullptr, 8), "ncclMemAlloc", "ptr is NULL");
  ncclRedOp_t op = ncclSum;
  float scalar = 1;
  refused(ncclRedOpCreatePreMulSum(nullptr, &scalar, ncclFloat, ncclScalarDevice, comm),
          "ncclRedOpCreatePreMulSum", "op is NULL");
  refused(ncclRedOpCreatePreMulSum(&op, nullptr, ncclFloat, ncclScalarDevice, comm),
          "ncclRedOpCreatePreMulSum", "scalar is NULL");
  refused(ncclRedOpCreatePreMulSum(&op, &scalar, bad<ncclDataType_t>(99), ncclScalarDevice, comm),
          "ncclRedOpCreatePreMulSum", "datatype 99");
  refused(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, bad<ncclScalarResidence_t>(7), comm),
          "ncclRedOpCreatePreMulSum", "residence 7");
  for (const int number : {0, 4, 5, 1000, -1}) {
    refused(ncclRedOpDestroy(bad<ncclRedOp_t>(number), comm), "ncclRedOpDestroy",
            "operator " + std::to_string(number));
  }
}

void bad_inits(RankCheck& check) {
  ncclUniqueId id{};
  check.ok(ncclGetUniqueId(&id), "id");
  ncclComm_t comm = nullptr;
  const auto refused = [&](ncclResult_t result, const std::string& text) {
    check.refused(result, ncclInvalidArgument, {"ncclCommInit", text}, text);
    check.that(comm == nullptr, "a refused init left a communicator");
  };
  refused(ncclCommInitRank(nullptr, 2, id, 0), "comm is NULL");
  refused(ncclCommInitRank(&comm, 0, id, 0), "nranks 0");
  refused(ncclCommInitRank(&comm, -3, id, 0), "nranks -3");
  refused(ncclCommInitRank(&comm, 2, id, -1), "rank -1 is not in 0..1");
  refused(ncclCommInitRank(&comm, 2, id, 2), "rank 2 is not in 0..1");
  refused(ncclCommInitRank(&comm, 2, ncclUniqueId{}, 0), "id");
  ncclUniqueId random{};
  for (char& c : random.internal) c = 'r';
  refused(ncclCommInitRank(&comm, 2, random, 0), "id");
  refused(ncclCommInitAll(nullptr, 2, nullptr), "comm is NULL");
  refused(ncclCommInitAll(&comm, 0, nullptr), "ndev 0");
  const int devices[2] = {0, 77};
  refused(ncclCommInitAll(&comm, 2, devices), "device 77");
}

void bad_configs(RankCheck& check) {
  ncclUniqueId id{};
  check.ok(ncclGetUniqueId(&id), "id");
  ncclComm_t comm = nullptr;
  ncclConfig_t config{};
  check.refused(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument,
                {"ncclCommInitRankConfig", "NCCL_CONFIG_INITIALIZER"}, "no initialiser");
  const ncclConfig_t fresh = NCCL_CONFIG_INITIALIZER;
  config = fresh;
  config.magic++;
  check.refused(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument,
                {"magic", "NCCL_CONFIG_INITIALIZER"}, "magic");
  config = fresh;
  config.size = 104;
  check.refused(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidUsage,
                {"104 bytes", "96 bytes"}, "size of the future");
  config = fresh;
  config.minCTAs = 4;
  config.maxCTAs = 2;
  check.refused(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument,
                {"config.minCTAs 4 is larger than config.maxCTAs 2"}, "CTAs");
  config = fresh;
  config.blocking = 3;
  check.refused(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument,
                {"config.blocking is 3"}, "blocking");
  check.that(comm == nullptr, "a refused init left a communicator");
}

void sum_is_right(int rank, ncclComm_t comm, RankCheck& check) {
  int in[3] = {rank + 1, 10, -rank};
  int out[3] = {};
  check.ok(ncclAllReduce(in, out, 3, ncclInt, ncclSum, comm, nullptr), "AllReduce afterwards");
  check.that(out[0] == 3 && out[1] == 20 && out[2] == -1, "the sum afterwards is wrong");
}

class ScenarioC18 : public testing::TestWithParam<RankKind> {};

TEST_P(ScenarioC18, BadArgumentsAreRefused) {
  EXPECT_TRUE(run_with_comm(GetParam(), kRanks, [](int rank, ncclComm_t comm, RankCheck& check) {
    sum_is_right(rank, comm, check);
    acclStream_t stream = nullptr;
    check.ok(acclStreamCreate(&stream), "stream");
    // With threads the last error is the process's: only one rank looks at it.
    if (rank == 0) {
      for (const cudaStream_t where : {cudaStream_t{}, stream}) {
        bad_collectives(comm, where, check);
        null_buffers(comm, where, check);
      }
      bad_streams(comm, check);
      bad_communicators(check);
      bad_questions(comm, check);
      bad_inits(check);
      bad_configs(check);
    }
    check.that(failure_text(comm).empty(), "refused calls became a failure of the communicator");
    for (int i = 0; i < 3; i++) sum_is_right(rank, comm, check);
    check.ok(acclStreamDestroy(stream), "stream");
  }));
}

INSTANTIATE_TEST_SUITE_P(Ranks, ScenarioC18,
                         testing::Values(RankKind::kProcesses, RankKind::kThreads),
                         [](const auto& test) { return name_of(test.param); });

TEST(ScenarioC18Handles, AFreedCommunicatorIsRecognised) {
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 2, [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 2, rank, board), "init")) return 1;
    sum_is_right(rank, comm, check);
    check.ok(ncclCommDestroy(comm), "destroy");
    int value = 0;
    const std::string who = "was rank " + std::to_string(rank) + "'s communicator";
    check.refused(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr),
                  ncclInvalidArgument, {"ncclAllReduce", who, "destroyed"}, "use after free");
    check.refused(ncclCommDestroy(comm), ncclInvalidArgument, {"ncclCommDestroy", who}, "twice");
    check.refused(ncclCommAbort(comm), ncclInvalidArgument, {"ncclCommAbort", who}, "abort");
    check.refused(ncclCommCount(comm, &value), ncclInvalidArgument, {"ncclCommCount", who},
                  "count");
    check.ok(ncclCommDestroy(nullptr), "destroy NULL");
    check.ok(ncclCommAbort(nullptr), "abort NULL");
    return check.code();
  }));
}

TEST(ScenarioC18Handles, AFinalizedCommunicatorTakesNoMoreCalls) {
  EXPECT_TRUE(
      run_with_comm(RankKind::kProcesses, 2, [](int rank, ncclComm_t comm, RankCheck& check) {
        sum_is_right(rank, comm, check);
        check.ok(ncclCommFinalize(comm), "finalize");
        int value = 0;
        check.refused(ncclBcast(&value, 1, ncclInt, 0, comm, nullptr), ncclInvalidArgument,
                      {"ncclBcast", "finalized"}, "after finalize");
        check.refused(ncclCommFinalize(comm), ncclInvalidArgument, {"finalized already"}, "twice");
      }));
}

}  // namespace
}  // namespace accl
