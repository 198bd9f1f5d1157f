// E02: counts differ. Nobody writes past a buffer, nobody succeeds, all hear both counts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/scenarios/mismatch.h"
#include "tests/support/guarded.h"

namespace accl {
namespace {

using Caller = ncclResult_t (*)(const void* in, void* out, size_t count, ncclComm_t comm);

struct Case {
  const char* name;
  size_t in_blocks;
  size_t out_blocks;
  Caller call;
};

constexpr Case kCases[] = {
    {"AllReduce", 1, 1,
     [](const void* in, void* out, size_t count, ncclComm_t comm) {
       return ncclAllReduce(in, out, count, ncclFloat, ncclSum, comm, nullptr);
     }},
    {"ReduceScatter", 2, 1,
     [](const void* in, void* out, size_t count, ncclComm_t comm) {
       return ncclReduceScatter(in, out, count, ncclFloat, ncclSum, comm, nullptr);
     }},
    {"AllGather", 1, 2,
     [](const void* in, void* out, size_t count, ncclComm_t comm) {
       return ncclAllGather(in, out, count, ncclFloat, comm, nullptr);
     }},
    {"Broadcast", 1, 1,
     [](const void* in, void* out, size_t count, ncclComm_t comm) {
       return ncclBroadcast(in, out, count, ncclFloat, 0, comm, nullptr);
     }},
    {"Reduce", 1, 1,
     [](const void* in, void* out, size_t count, ncclComm_t comm) {
       return ncclReduce(in, out, count, ncclFloat, ncclSum, 1, comm, nullptr);
     }},
    {"AlltoAll", 2, 2,
     [](const void* in, void* out, size_t count, ncclComm_t comm) {
       return ncclAlltoAll(in, out, count, ncclFloat, comm, nullptr);
     }},
};

// Rank 0 has `few` elements, rank 1 `many`; a fence stands behind each buffer.
void expect_counts_named(const Case& c, size_t few, size_t many) {
  SCOPED_TRACE(std::string(c.name) + " " + std::to_string(few) + " and " + std::to_string(many));
  const auto call = [&](int rank, ncclComm_t comm) {
    const size_t count = rank == 0 ? few : many;
    BeforeFence in(c.in_blocks * count * sizeof(float));
    BeforeFence out(c.out_blocks * count * sizeof(float));
    return c.call(in.data(), out.data(), count, comm);
  };
  const std::vector<Verdict> verdicts = run_mismatch({}, call);
  ASSERT_EQ(verdicts.size(), 2u) << "a rank did not end by itself";
  for (const Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.code, ncclInvalidUsage) << verdict.text;
    EXPECT_LT(verdict.took_ms, mismatch_limit_ms());
    for (const int rank : {0, 1}) {
      const std::string part = "rank " + std::to_string(rank) + " calls " + c.name + "(count " +
                               std::to_string(rank == 0 ? few : many) + ", float";
      EXPECT_NE(verdict.text.find(part), std::string::npos) << part << " in " << verdict.text;
    }
  }
  EXPECT_EQ(verdicts[0].text, verdicts[1].text);
}

TEST(ScenarioE02, CountsDiffer) {
  for (const Case& c : kCases) expect_counts_named(c, 1000, 2000);
}

// Counts that have the same plan: the messages meet, and only their signatures differ.
TEST(ScenarioE02, CountsDifferByOne) {
  for (const Case& c : kCases) {
    expect_counts_named(c, 3, 2);
    expect_counts_named(c, 40000, 40001);
  }
}

TEST(ScenarioE02, HugeCountsDiffer) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer's shadow of these buffers is too large";
  for (const Case& c : kCases) expect_counts_named(c, size_t{100} << 20, size_t{200} << 20);
}

TEST(ScenarioE02, ReceivedSizeDiffers) {
  const auto call = [](int rank, ncclComm_t comm) {
    BeforeFence data(rank == 0 ? 4000 : 8000);
    return rank == 0 ? ncclSend(data.data(), 1000, ncclFloat, 1, comm, nullptr)
                     : ncclRecv(data.data(), 2000, ncclFloat, 0, comm, nullptr);
  };
  const std::vector<Verdict> verdicts = run_mismatch({}, call);
  ASSERT_EQ(verdicts.size(), 2u) << "a rank did not end by itself";
  EXPECT_EQ(verdicts[1].code, ncclInvalidUsage);
  EXPECT_NE(verdicts[1].text.find("Recv on rank 1 from rank 0 expects 8000 bytes, and the matching "
                                  "Send has 4000 bytes"),
            std::string::npos)
      << verdicts[1].text;
}

}  // namespace
}  // namespace accl
