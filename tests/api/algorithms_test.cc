// Every algorithm, forced by NCCL_ALGO, with every collective that it can do, between processes and
// between threads. What ran is read from the library's log.
#include "src/plan/algorithms.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "src/tuner/choice.h"
#include "tests/base/sanitized.h"
#include "tests/support/log_folder.h"
#include "tests/support/rank_check.h"
#include "tests/support/test_call.h"

namespace accl {
namespace {

// The collective of a kind of call, as the library's log names it.
Collective collective_of(TestKind kind) {
  switch (kind) {
    case TestKind::kAllReduce:
      return Collective::kAllReduce;
    case TestKind::kAllGather:
      return Collective::kAllGather;
    case TestKind::kReduceScatter:
      return Collective::kReduceScatter;
    case TestKind::kBroadcast:
    case TestKind::kBcast:
      return Collective::kBroadcast;
    case TestKind::kReduce:
      return Collective::kReduce;
    case TestKind::kAllToAll:
      return Collective::kAllToAll;
    case TestKind::kShift:
      break;
  }
  return Collective::kPointToPoint;
}

constexpr TestKind kKinds[] = {TestKind::kAllReduce, TestKind::kAllGather, TestKind::kReduceScatter,
                               TestKind::kBroadcast, TestKind::kReduce,    TestKind::kAllToAll};

void run_kind(TestKind kind, std::vector<size_t> counts, int rank, ncclComm_t comm,
              RankCheck& check) {
  int ranks = 0;
  if (!check.ok(ncclCommCount(comm, &ranks), "count")) return;
  uint64_t seed = 1;
  for (const size_t count : counts) {
    for (const int root : {0, ranks - 1}) {
      for (const bool in_place : {false, true}) {
        CallShape shape{.kind = kind,
                        .type = seed % 2 == 0 ? ncclInt : ncclHalf,
                        .op = reduces(kind) && seed % 3 == 0 ? TestOp::kScaledHost : TestOp::kSum,
                        .count = count,
                        .root = root,
                        .in_place = in_place,
                        .skew = seed % 5,
                        .seed = seed};
        seed++;
        TestCall call(shape, rank, ranks);
        if (check.ok(call.issue(comm, nullptr), shape.describe())) call.judge(check);
        if (check.code() != 0) return;
      }
    }
  }
}

bool can(Algorithm algorithm, TestKind kind) {
  return supports(forced_for(algorithm, collective_of(kind)), collective_of(kind));
}

// With a sanitizer, what takes long is left out.
std::vector<int> rank_counts() {
  return test::kSanitized ? std::vector<int>{2, 3} : std::vector<int>{2, 3, 8};
}

using Setup = std::tuple<RankKind, int, int>;

class Algorithms : public testing::TestWithParam<Setup> {};

// What an algorithm cannot do, the library does in its own way and says so once.
TEST_P(Algorithms, DoEveryCollective) {
  const auto [kind, ranks, number] = GetParam();
  const auto algorithm = static_cast<Algorithm>(number);
  const LogFolder folder;
  const auto body = [&, ranks = ranks](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, ranks, rank, board), "init")) return 1;
    for (const TestKind k : kKinds) {
      // What runs whatever the algorithm is (AlltoAll has one) is tested where it is named.
      const bool own =
          k == TestKind::kAllToAll ? algorithm == Algorithm::kDirect : can(algorithm, k);
      const std::vector<size_t> few = {1021};
      run_kind(k, own ? std::vector<size_t>{1, 1021, 50021, 300007} : few, rank, comm, check);
    }
    check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  };
  // The settings are those of the forked processes: set here, taken back below.
  folder.log_here("INFO");
  setenv("NCCL_ALGO", std::string(name_of(algorithm)).c_str(), 1);
  EXPECT_TRUE(run_ranks(kind, ranks, body, std::chrono::seconds(100)));
  unsetenv("NCCL_ALGO");
  folder.log_no_more();

  const std::string via = kind == RankKind::kProcesses ? "shm" : "local";
  const std::vector<std::string> lines = folder.lines();
  for (const TestKind k : kKinds) {
    const std::string name(name_of(collective_of(k)));
    const std::string choice = ": " + std::string(name_of(forced_for(algorithm, collective_of(k))));
    const std::string unfit = ": NCCL_ALGO " + std::string(name_of(algorithm)) + " cannot do " +
                              name + ": the library chooses";
    int chosen = 0;
    int complaints = 0;
    for (const std::string& line : lines) {
      if (line.ends_with(unfit)) complaints++;
      if (line.find(": " + name + " of ") == std::string::npos) continue;
      chosen++;
      EXPECT_EQ(line.find(choice + ", ") != std::string::npos, can(algorithm, k)) << line;
      EXPECT_TRUE(line.ends_with(", via " + via) || line.ends_with(", via self," + via)) << line;
      EXPECT_EQ(line.find(", root ") != std::string::npos,
                k == TestKind::kBroadcast || k == TestKind::kReduce)
          << line;
    }
    EXPECT_GE(chosen, ranks) << name;
    EXPECT_EQ(complaints, can(algorithm, k) ? 0 : ranks) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Algorithms,
                         testing::Combine(testing::Values(RankKind::kProcesses, RankKind::kThreads),
                                          testing::ValuesIn(rank_counts()),
                                          testing::Range(0, kAlgorithms)),
                         [](const auto& test) {
                           std::string name = name_of(std::get<0>(test.param)) +
                                              std::to_string(std::get<1>(test.param)) + "_" +
                                              std::string(name_of(
                                                  static_cast<Algorithm>(std::get<2>(test.param))));
                           std::erase(name, '-');
                           return name;
                         });

TEST(AlgorithmSetting, UnknownNamesAreRefused) {
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 1, [](int rank, Blackboard& board) {
    setenv("NCCL_ALGO", "Rings", 1);
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    check.refused(join_ranks(&comm, 1, rank, board), ncclInvalidUsage,
                  {"NCCL_ALGO 'Rings' is unknown", "ring", "hierarchical"}, "init");
    return check.code();
  }));
}

// The line that docs and README point people to, word for word.
TEST(AlgorithmSetting, ChoicesAreTold) {
  const LogFolder folder;
  folder.log_here("INFO");
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 2, [](int rank, Blackboard& board) {
    setenv("NCCL_ALGO", "direct", 1);
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, 2, rank, board), "init")) return 1;
    std::vector<float> data(3 << 20 >> 2);
    check.ok(
        ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr),
        "allreduce");
    check.ok(ncclBcast(data.data(), 1, ncclInt8, 1, comm, nullptr), "bcast");
    check.ok(ncclBcast(data.data(), 5000, ncclInt8, 1, comm, nullptr), "bcast");
    check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  }));
  folder.log_no_more();
  std::vector<std::string> texts;
  for (const std::string& line : folder.lines()) {
    const size_t at = line.find(" rank 1: ");
    if (at != std::string::npos) texts.push_back(line.substr(at + 9));
  }
  EXPECT_EQ(texts,
            (std::vector<std::string>{
                "AllReduce of 2 MiB to 4 MiB: direct, 2 channels, chunks of 128 KiB, via shm",
                "NCCL_ALGO direct cannot do Broadcast: the library chooses",
                "Broadcast of 1 B, root 1: flat, 1 channel, chunks of 4 KiB, via shm",
                "Broadcast of 4 KiB to 8 KiB, root 1: chain, 2 channels, chunks of 128 KiB, "
                "via shm"}));
}

TEST(AlgorithmSetting, RanksMustAgree) {
  EXPECT_TRUE(run_ranks(RankKind::kProcesses, 3, [](int rank, Blackboard& board) {
    setenv("NCCL_ALGO", rank == 2 ? "tree" : "ring", 1);
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    check.refused(join_ranks(&comm, 3, rank, board), ncclInvalidUsage,
                  {"NCCL_ALGO differs: rank 0 has 'ring', rank 2 has 'tree'"}, "init");
    return check.code();
  }));
}

}  // namespace
}  // namespace accl
