// A rank whose memory, descriptors or threads the system limits fails with one clear text, not with
// a signal, and the others do not wait for it for ever.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <vector>

#include "accl/device.h"
#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

constexpr int kRanks = 2;
constexpr int kLimited = 1;

bool limit(__rlimit_resource_t resource, rlim_t value) {
  const rlimit both{value, value};
  return setrlimit(resource, &both) == 0;
}

// Rank 1 joins under a limit: it says `words`; rank 0 hears of it, or that rank 1 is missing.
struct Limit {
  const char* name;
  __rlimit_resource_t resource;
  rlim_t value;
  std::vector<std::string> words;
};

class Refusal : public testing::TestWithParam<Limit> {};

int join_with_limit(const Limit& given, int rank, Blackboard& board) {
  RankCheck check(rank);
  setenv("ACCL_INIT_TIMEOUT", "2", 1);
  const ncclUniqueId id = shared_id(rank, board);
  const bool limited = rank == kLimited;
  // Root is above this limit.
  if (given.resource == RLIMIT_NPROC && setuid(65534) != 0) return kNotPossibleHere;
  if (limited && !limit(given.resource, given.value)) return kNotPossibleHere;
  ncclComm_t comm = nullptr;
  const Stopwatch watch;
  const ncclResult_t result = ncclCommInitRank(&comm, kRanks, id, rank);
  if (limited) {
    check.refused(result, ncclSystemError, given.words, "limited");
  } else {
    check.that(result == ncclRemoteError || result == ncclSystemError, "the other's result");
    check.refused(result, result, {"rank 1"}, "the other");
  }
  check.that(comm == nullptr, "a communicator was given out");
  check.that(watch.seconds() < allowed(6), std::to_string(watch.seconds()) + " s");
  return check.code();
}

TEST_P(Refusal, OfTheSystemToALimitedRank) {
  if (test::kSanitized &&
      (GetParam().resource == RLIMIT_AS || GetParam().resource == RLIMIT_NOFILE)) {
    GTEST_SKIP() << "a sanitizer needs address space, and descriptors to look at objects";
  }
  Ranks job;
  job.start(kRanks,
            [](int rank, Blackboard& board) { return join_with_limit(GetParam(), rank, board); });
  const ExitCodes codes = job.wait(std::chrono::seconds(30));
  if (codes[0] == kNotPossibleHere) GTEST_SKIP() << "this limit cannot be set here";
  EXPECT_EQ(codes, ExitCodes(kRanks, 0));
}

constexpr rlim_t kMiB = 1 << 20;

INSTANTIATE_TEST_SUITE_P(
    Limits, Refusal,
    testing::Values(Limit{"AddressSpace", RLIMIT_AS, 500 * kMiB, {"cannot map", "RLIMIT_AS"}},
                    Limit{"FileSize", RLIMIT_FSIZE, kMiB, {"RLIMIT_FSIZE", "1048576 bytes"}},
                    Limit{"Descriptors", RLIMIT_NOFILE, 5, {"Too many open files"}},
                    Limit{"Threads", RLIMIT_NPROC, 1, {"cannot start thread", "ulimit -u"}}),
    [](const auto& instance) { return std::string(instance.param.name); });

// All descriptors and files are there once the ranks have met: what is refused then is not missed.
TEST(RefusalLater, LimitsAfterInitDoNotMatter) {
  EXPECT_TRUE(
      run_with_comm(RankKind::kProcesses, kRanks, [](int rank, ncclComm_t comm, RankCheck& check) {
        std::vector<int> data(1 << 20, 1);
        if (rank == kLimited) {
          check.that(limit(RLIMIT_FSIZE, 0), "limit of file sizes");
          // A sanitizer opens pipes to look whether an object is one.
          check.that(test::kSanitized || limit(RLIMIT_NOFILE, 3), "limit of descriptors");
        }
        check.ok(
            ncclAllReduce(data.data(), data.data(), data.size(), ncclInt, ncclSum, comm, nullptr),
            "AllReduce");
        check.that(data[12345] == kRanks, "wrong sum");
      }));
}

// The processes' memory is bounded by a control group or by the machine; here a rank's address
// space is full when its first large message needs room.
TEST(RefusalLater, NoAddressSpaceAfterInit) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer needs the address space";
  EXPECT_TRUE(
      run_with_comm(RankKind::kProcesses, kRanks, [](int rank, ncclComm_t comm, RankCheck& check) {
        std::vector<int> data(4 << 20, 1);
        if (rank == kLimited) check.that(limit(RLIMIT_AS, kMiB), "limit");
        const ncclResult_t result =
            ncclAllReduce(data.data(), data.data(), data.size(), ncclInt, ncclSum, comm, nullptr);
        if (result == ncclSuccess) {
          check.that(data[12345] == kRanks, "wrong sum");
        } else {
          const std::string text = ncclGetLastError(nullptr);
          check.that(text.find("memory") != std::string::npos,
                     "'" + text + "' says nothing of memory");
        }
      }));
}

}  // namespace
}  // namespace accl
