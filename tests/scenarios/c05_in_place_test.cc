// C05: the in-place forms give the bits of the out-of-place ones.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "src/base/rng.h"
#include "tests/support/guarded.h"
#include "tests/support/rank_check.h"

namespace accl {
namespace {

constexpr int kRanks = 3;

// Floats whose sum depends on the order: equal bits mean the same program.
void fill(float* data, size_t count, int rank) {
  Rng rng(static_cast<uint64_t>(rank) + 11);
  for (size_t i = 0; i < count; i++) data[i] = static_cast<float>(rng.uniform() * 1e3 - 5e2);
}

struct Pair {
  Guarded in;
  Guarded out;    // the result out of place
  Guarded place;  // input and result

  Pair(size_t in_count, size_t out_count)
      : in(in_count * sizeof(float)),
        out(out_count * sizeof(float)),
        place(std::max(in_count, out_count) * sizeof(float)) {}
};

void same(const Pair& p, const float* got, size_t count, const std::string& what,
          RankCheck& check) {
  check.that(std::memcmp(p.out.data(), got, count * sizeof(float)) == 0,
             what + " differs in place");
  check.that(p.in.intact() && p.out.intact() && p.place.intact(), what + " wrote past its buffer");
}

void reductions(int rank, size_t count, ncclComm_t comm, RankCheck& check) {
  Pair p(count, count);
  fill(p.in.as<float>(), count, rank);
  auto* place = p.place.as<float>();
  fill(place, count, rank);
  check.ok(ncclAllReduce(p.in.data(), p.out.data(), count, ncclFloat, ncclSum, comm, nullptr),
           "out");
  check.ok(ncclAllReduce(place, place, count, ncclFloat, ncclSum, comm, nullptr), "in place");
  same(p, place, count, "AllReduce", check);
  for (int root = 0; root < kRanks; root++) {
    fill(place, count, rank);
    check.ok(ncclReduce(p.in.data(), p.out.data(), count, ncclFloat, ncclSum, root, comm, nullptr),
             "out");
    check.ok(ncclReduce(place, place, count, ncclFloat, ncclSum, root, comm, nullptr), "in place");
    if (rank == root) same(p, place, count, "Reduce", check);
  }
}

void broadcast(int rank, size_t count, ncclComm_t comm, RankCheck& check) {
  for (int root = 0; root < kRanks; root++) {
    Pair p(count, count);
    fill(p.in.as<float>(), count, rank);
    auto* place = p.place.as<float>();
    fill(place, count, rank);
    check.ok(ncclBroadcast(p.in.data(), p.out.data(), count, ncclFloat, root, comm, nullptr),
             "out");
    check.ok(ncclBroadcast(place, place, count, ncclFloat, root, comm, nullptr), "in place");
    same(p, place, count, "Broadcast", check);
  }
}

void blocks(int rank, size_t count, ncclComm_t comm, RankCheck& check) {
  const size_t own = static_cast<size_t>(rank) * count;
  {
    Pair p(count, kRanks * count);
    fill(p.in.as<float>(), count, rank);
    float* place = p.place.as<float>() + own;
    fill(place, count, rank);
    check.ok(ncclAllGather(p.in.data(), p.out.data(), count, ncclFloat, comm, nullptr), "out");
    check.ok(ncclAllGather(place, place - own, count, ncclFloat, comm, nullptr), "in place");
    same(p, place - own, kRanks * count, "AllGather", check);
  }
  Pair p(kRanks * count, count);
  fill(p.in.as<float>(), kRanks * count, rank);
  auto* place = p.place.as<float>();
  fill(place, kRanks * count, rank);
  check.ok(ncclReduceScatter(p.in.data(), p.out.data(), count, ncclFloat, ncclSum, comm, nullptr),
           "out");
  check.ok(ncclReduceScatter(place, place + own, count, ncclFloat, ncclSum, comm, nullptr),
           "in place");
  same(p, place + own, count, "ReduceScatter", check);
  check.refused(ncclAlltoAll(place, place, count, ncclFloat, comm, nullptr), ncclInvalidArgument,
                {"ncclAlltoAll", "overlap"}, "AlltoAll in place");
}

class ScenarioC05 : public testing::TestWithParam<RankKind> {};

TEST_P(ScenarioC05, InPlaceForms) {
  EXPECT_TRUE(run_with_comm(GetParam(), kRanks, [](int rank, ncclComm_t comm, RankCheck& check) {
    for (const size_t count : {size_t{1}, size_t{7}, size_t{1000}, size_t{65537}, size_t{300001}}) {
      reductions(rank, count, comm, check);
      broadcast(rank, count, comm, check);
      blocks(rank, count, comm, check);
    }
  }));
}

INSTANTIATE_TEST_SUITE_P(Ranks, ScenarioC05,
                         testing::Values(RankKind::kProcesses, RankKind::kThreads),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace accl
