// E01: different collectives meet.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/scenarios/mismatch.h"

namespace accl {
namespace {

void expect_all(const std::vector<Verdict>& verdicts, int ranks,
                const std::vector<std::string>& parts) {
  ASSERT_EQ(verdicts.size(), static_cast<size_t>(ranks)) << "a rank did not end by itself";
  for (const Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.code, ncclInvalidUsage) << verdict.text;
    EXPECT_EQ(verdict.text, verdicts[0].text) << "ranks were told different things";
    EXPECT_LT(verdict.took_ms, mismatch_limit_ms());
  }
  for (const std::string& part : parts) {
    EXPECT_NE(verdicts[0].text.find(part), std::string::npos)
        << "'" << part << "' is not in '" << verdicts[0].text << "'";
  }
}

class ScenarioE01 : public testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(ScenarioE01, DifferentCollectivesMeet) {
  const auto [ranks, mode] = GetParam();
  const auto call = [](int rank, ncclComm_t comm) {
    std::vector<float> in(1000, 1);
    std::vector<float> out(1000, -1);
    if (rank == 0) {
      return ncclAllReduce(in.data(), out.data(), 1000, ncclFloat, ncclSum, comm, nullptr);
    }
    return ncclBroadcast(in.data(), out.data(), 1000, ncclFloat, 0, comm, nullptr);
  };
  const auto verdicts =
      run_mismatch({.ranks = ranks, .calls_before = 16, .check_mode = mode}, call);
  for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.result, ncclInvalidUsage);
  const std::string others = ranks == 2 ? "rank 1 calls " : "ranks 1-3 call ";
  expect_all(
      verdicts, ranks,
      {"communicator ", "operation 17 differs", "rank 0 calls AllReduce(count 1000, float, sum)",
       others + "Broadcast(count 1000, float, root 0)"});
}

INSTANTIATE_TEST_SUITE_P(Ranks, ScenarioE01,
                         testing::Combine(testing::Values(2, 4),
                                          testing::Values("DEFAULT", "DEBUG_LOCAL",
                                                          "DEBUG_GLOBAL")));

// Every pair of collectives, small and large: none hangs and none succeeds.
using Caller = ncclResult_t (*)(const float* in, float* out, size_t count, ncclComm_t comm);

struct Kind {
  const char* name;
  Caller call;
};

constexpr Kind kKinds[] = {
    {"AllReduce",
     [](const float* in, float* out, size_t count, ncclComm_t comm) {
       return ncclAllReduce(in, out, count, ncclFloat, ncclSum, comm, nullptr);
     }},
    {"AllGather",
     [](const float* in, float* out, size_t count, ncclComm_t comm) {
       return ncclAllGather(in, out, count, ncclFloat, comm, nullptr);
     }},
    {"ReduceScatter",
     [](const float* in, float* out, size_t count, ncclComm_t comm) {
       return ncclReduceScatter(in, out, count, ncclFloat, ncclSum, comm, nullptr);
     }},
    {"Broadcast",
     [](const float* in, float* out, size_t count, ncclComm_t comm) {
       return ncclBroadcast(in, out, count, ncclFloat, 1, comm, nullptr);
     }},
    {"Reduce",
     [](const float* in, float* out, size_t count, ncclComm_t comm) {
       return ncclReduce(in, out, count, ncclFloat, ncclSum, 1, comm, nullptr);
     }},
    {"AlltoAll",
     [](const float* in, float* out, size_t count, ncclComm_t comm) {
       return ncclAlltoAll(in, out, count, ncclFloat, comm, nullptr);
     }},
};

class ScenarioE01Pairs : public testing::TestWithParam<size_t> {};

TEST_P(ScenarioE01Pairs, EveryPairIsFound) {
  const size_t count = GetParam();
  for (const Kind& one : kKinds) {
    for (const Kind& other : kKinds) {
      if (&one == &other) continue;
      const auto call = [&](int rank, ncclComm_t comm) {
        std::vector<float> in(3 * count, 1);
        std::vector<float> out(3 * count, -1);
        const Caller mine = (rank == 2 ? other : one).call;
        const ncclResult_t result = mine(in.data(), out.data(), count, comm);
        if (result != ncclSuccess) return result;
        // Who had only to send may be done before the others come, and if that is everybody the
        // next operation finds out.
        return ncclAllReduce(in.data(), out.data(), 1, ncclFloat, ncclSum, comm, nullptr);
      };
      const auto verdicts = run_mismatch({.ranks = 3, .calls_before = 1}, call);
      SCOPED_TRACE(std::string(one.name) + " and " + other.name);
      const std::string elements = "(count " + std::to_string(count) + ", float";
      expect_all(
          verdicts, 3,
          {"operation 2 differs", one.name + elements, "rank 2 calls " + (other.name + elements)});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, ScenarioE01Pairs, testing::Values(1, 100000));

// One thread drives both ranks; the group ends with the error.
TEST(ScenarioE01InOneThread, TheGroupReturnsTheError) {
  const auto body = [](int rank, Blackboard&) {
    RankCheck check(rank);
    ncclComm_t comms[2] = {};
    const int devices[2] = {0, 0};
    if (!check.ok(ncclCommInitAll(comms, 2, devices), "init")) return 1;
    float in[2] = {1, 2};
    float out[2] = {};
    check.ok(ncclGroupStart(), "GroupStart");
    check.ok(ncclAllReduce(&in[0], &out[0], 1, ncclFloat, ncclSum, comms[0], nullptr), "AllReduce");
    check.ok(ncclAllReduce(&in[1], &out[1], 1, ncclFloat, ncclMax, comms[1], nullptr), "AllReduce");
    check.refused(ncclGroupEnd(), ncclInvalidUsage,
                  {"operation 1 differs", "rank 0 calls AllReduce(count 1, float, sum)",
                   "rank 1 calls AllReduce(count 1, float, max)"},
                  "GroupEnd");
    const std::string text = failure_text(comms[0]);
    check.that(!text.empty() && text == failure_text(comms[1]), "ranks were told different things");
    for (const ncclComm_t comm : comms) check.ok(ncclCommAbort(comm), "abort");
    return check.code();
  };
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 1, body, std::chrono::seconds(20)));
}

// On a stream the call itself may return before the peers have come; the stream fails.
TEST(ScenarioE01OnStreams, TheStreamFails) {
  Ranks ranks;
  ranks.start(2, [](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 2, rank, board), "init")) return 1;
    acclStream_t stream = nullptr;
    check.ok(acclStreamCreate(&stream), "stream");
    std::vector<float> in(1000, 1);
    std::vector<float> out(2000, -1);
    const ncclResult_t result =
        rank == 0 ? ncclAllReduce(in.data(), out.data(), 1000, ncclFloat, ncclSum, comm, stream)
                  : ncclAllGather(in.data(), out.data(), 1000, ncclFloat, comm, stream);
    check.that(result == ncclSuccess || result == ncclInvalidUsage, "the call's result");
    if (result == ncclSuccess) {
      check.that(acclStreamSynchronize(stream) == acclErrorLaunchFailure, "the stream has failed");
    }
    ncclResult_t code = ncclSuccess;
    say(rank, board, failure_text(comm, &code));
    check.that(code == ncclInvalidUsage, "the communicator has failed");
    check.ok(ncclCommAbort(comm), "abort");
    check.ok(acclStreamSynchronize(stream), "the stream works again");
    check.ok(acclStreamDestroy(stream), "stream");
    return check.code();
  });
  EXPECT_EQ(ranks.wait(std::chrono::seconds(20)), ExitCodes(2, 0));
  EXPECT_NE(ranks.text(0).find("operation 1 differs"), std::string::npos) << ranks.text(0);
  EXPECT_EQ(ranks.text(0), ranks.text(1));
}

}  // namespace
}  // namespace accl
