// Every type, operator and collective through the API, between processes and between threads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"
#include "tests/support/test_call.h"

namespace accl {
namespace {

uint64_t hash_of(const std::byte* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ static_cast<uint8_t>(data[i])) * 0x100000001b3u;
  return hash;
}

// All ranks hold the same bits, also where rounding leaves a choice.
void same_bits_everywhere(const TestCall& call, int ranks, ncclComm_t comm, RankCheck& check) {
  const uint64_t mine = hash_of(call.result(), call.result_bytes());
  std::vector<uint64_t> all(static_cast<size_t>(ranks));
  check.ok(ncclAllGather(&mine, all.data(), 1, ncclUint64, comm, nullptr), "AllGather of hashes");
  for (const uint64_t hash : all) check.that(hash == mine, "ranks hold different bits");
}

void run_one(const CallShape& shape, int rank, int ranks, ncclComm_t comm, RankCheck& check) {
  TestCall call(shape, rank, ranks);
  if (check.ok(call.issue(comm, nullptr), shape.describe())) call.judge(check);
  if (shape.kind == TestKind::kAllReduce) same_bits_everywhere(call, ranks, comm, check);
}

void run_type(ncclDataType_t type, int rank, int ranks, ncclComm_t comm, RankCheck& check) {
  uint64_t seed = 1;
  for (int kind = 0; kind < kTestKinds; kind++) {
    const bool with_op = reduces(static_cast<TestKind>(kind));
    for (int op = 0; op < (with_op ? kTestOps : 1); op++) {
      for (const size_t count : {size_t{1}, size_t{13}, size_t{1021}, size_t{20011}}) {
        // Large counts with one operator only: the kernels have tests of their own.
        if (count > 2000 && op % 3 != 0) continue;
        for (const bool in_place : {false, true}) {
          const CallShape shape{.kind = static_cast<TestKind>(kind),
                                .type = type,
                                .op = static_cast<TestOp>(op),
                                .count = count,
                                .root = static_cast<int>(seed % static_cast<uint64_t>(ranks)),
                                .in_place = in_place,
                                .skew = seed % 2 == 0 ? 0 : 1 + seed % 7,
                                .seed = seed};
          seed++;
          run_one(shape, rank, ranks, comm, check);
          if (check.code() != 0) return;
        }
      }
    }
  }
}

class Collectives : public testing::TestWithParam<std::tuple<RankKind, int>> {};

TEST_P(Collectives, EveryTypeOperatorAndCollective) {
  const auto [kind, ranks] = GetParam();
  if (test::kSanitized && ranks > 3) GTEST_SKIP() << "too slow with a sanitizer";
  EXPECT_TRUE(run_with_comm(
      kind, ranks,
      [ranks = ranks](int rank, ncclComm_t comm, RankCheck& check) {
        for (int type = 0; type < kDataTypes && check.code() == 0; type++) {
          run_type(static_cast<ncclDataType_t>(type), rank, ranks, comm, check);
        }
      },
      std::chrono::seconds(110)));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives,
                         testing::Combine(testing::Values(RankKind::kProcesses, RankKind::kThreads),
                                          testing::Values(1, 2, 3, 8)),
                         [](const auto& test) {
                           return name_of(std::get<0>(test.param)) +
                                  std::to_string(std::get<1>(test.param));
                         });

// The oracle is tried on results that are wrong.
TEST(CollectivesOracle, FindsAWrongElement) {
  const int values[] = {1, -1, 1};
  for (int type = 0; type < kDataTypes; type++) {
    const auto t = static_cast<DataType>(type);
    std::byte element[8] = {};
    put(t, 1, element);
    EXPECT_TRUE(is_reduced(t, TestOp::kSum, values, element)) << name_of(t);
    put(t, 2, element);
    EXPECT_FALSE(is_reduced(t, TestOp::kSum, values, element)) << name_of(t);
    put(t, -1, element);
    EXPECT_TRUE(is_reduced(t, TestOp::kProd, values, element)) << name_of(t);
    EXPECT_FALSE(is_reduced(t, TestOp::kAvg, values, element)) << name_of(t);
    EXPECT_EQ(is_reduced(t, TestOp::kMax, values, element), !is_float(t) && !is_signed(t));
  }
}

// A scalar in device memory is read when the operation's turn comes, and its operator may be
// destroyed before that.
TEST(PreMulSum, DeviceScalarsAreReadInStreamOrder) {
  EXPECT_TRUE(
      run_with_comm(RankKind::kProcesses, 2, [](int rank, ncclComm_t comm, RankCheck& check) {
        acclStream_t stream = nullptr;
        check.ok(acclStreamCreate(&stream), "stream");
        float scalar = -1;
        float in = static_cast<float>(rank + 1);
        float out = 0;
        ncclRedOp_t op = ncclSum;
        check.ok(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, ncclScalarDevice, comm), "op");
        const auto write = [](void* at) {
          usleep(20000);
          *static_cast<float*>(at) = 10;
        };
        check.ok(acclLaunchHostFunc(stream, write, &scalar), "host function");
        check.ok(ncclAllReduce(&in, &out, 1, ncclFloat, op, comm, stream), "AllReduce");
        check.ok(ncclRedOpDestroy(op, comm), "destroy");
        check.ok(acclStreamSynchronize(stream), "synchronise");
        check.that(out == 30, "the scalar was read too early: " + std::to_string(out));
        check.ok(acclStreamDestroy(stream), "stream");
      }));
}

TEST(PreMulSum, OperatorsAreOneCommunicatorsAndOneTypes) {
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 1, [](int rank, Blackboard&) {
    RankCheck check(rank);
    ncclComm_t comms[2] = {};
    const int device = 0;
    for (ncclComm_t& comm : comms) check.ok(ncclCommInitAll(&comm, 1, &device), "init");
    ncclRedOp_t op = ncclSum;
    float scalar = 3;
    check.ok(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat, ncclScalarHostImmediate, comms[0]),
             "op");
    scalar = -1;  // an immediate scalar is copied
    float x = 2;
    check.ok(ncclAllReduce(&x, &x, 1, ncclFloat, op, comms[0], nullptr), "AllReduce");
    check.that(x == 6, "one rank scales too: " + std::to_string(x));
    double d = 2;
    check.refused(ncclAllReduce(&d, &d, 1, ncclDouble, op, comms[0], nullptr), ncclInvalidArgument,
                  {"was made for float and is used with double"}, "another type");
    check.refused(ncclAllReduce(&x, &x, 1, ncclFloat, op, comms[1], nullptr), ncclInvalidArgument,
                  {"nor a live operator of this communicator"}, "another communicator");
    check.refused(ncclRedOpDestroy(op, comms[1]), ncclInvalidArgument,
                  {"not a live operator of this communicator"}, "another communicator's");
    check.ok(ncclGroupStart(), "GroupStart");
    check.ok(ncclAllReduce(&x, &x, 1, ncclFloat, op, comms[0], nullptr), "AllReduce");
    check.ok(ncclRedOpDestroy(op, comms[0]), "destroy after the last call that uses it");
    check.ok(ncclGroupEnd(), "GroupEnd");
    check.that(x == 18, "the group's sum: " + std::to_string(x));
    check.refused(ncclRedOpDestroy(op, comms[0]), ncclInvalidArgument, {"not a live operator"},
                  "destroyed twice");
    check.refused(ncclAllReduce(&x, &x, 1, ncclFloat, op, comms[0], nullptr), ncclInvalidArgument,
                  {"nor a live operator"}, "after destroy");
    for (const ncclComm_t comm : comms) check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  }));
}

}  // namespace
}  // namespace accl
