// Nothing is allocated once warm, on neither data path: NULL stream and real stream, collectives
// and groups with exchanges, between processes and within one. Counts malloc itself, in every
// thread of the process.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {
std::atomic<long> allocations{0};
}

// glibc's own names are behind malloc. Visible, so that the libraries (libstdc++'s operator new,
// too) come this way.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* malloc(size_t bytes) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, bytes);
}
}
#pragma GCC visibility pop

namespace accl {
namespace {

constexpr size_t kLargest = 200000;

/// One rank, its buffers and streams.
struct Rig {
  int ranks = 0;
  int rank = 0;
  ncclComm_t comm = nullptr;
  std::vector<float> in = std::vector<float>(kLargest * 8, 1);
  std::vector<float> out = std::vector<float>(kLargest * 8);
  std::array<acclStream_t, 2> streams{};
};

void collectives(Rig& rig, cudaStream_t stream, RankCheck& check) {
  const ncclComm_t comm = rig.comm;
  float* in = rig.in.data();
  float* out = rig.out.data();
  for (const size_t count : {size_t{2}, size_t{500}, size_t{30000}, kLargest}) {
    check.ok(ncclAllReduce(in, out, count, ncclFloat, ncclSum, comm, stream), "AllReduce");
    check.ok(ncclAllGather(in, out, count, ncclFloat, comm, stream), "AllGather");
    check.ok(ncclReduceScatter(in, out, count, ncclFloat, ncclMax, comm, stream), "ReduceScatter");
    check.ok(ncclBroadcast(in, out, count, ncclFloat, 1, comm, stream), "Broadcast");
    check.ok(ncclReduce(in, out, count, ncclFloat, ncclAvg, 0, comm, stream), "Reduce");
    check.ok(ncclAlltoAll(in, out, count, ncclFloat, comm, stream), "AlltoAll");
  }
}

// Exchanges of several shapes, with a collective in the same group.
void groups(Rig& rig, std::array<cudaStream_t, 2> streams, RankCheck& check) {
  const ncclComm_t comm = rig.comm;
  for (const size_t count : {size_t{1}, size_t{3000}, size_t{100000}}) {
    check.ok(ncclGroupStart(), "GroupStart");
    for (int peer = 0; peer < rig.ranks; peer++) {
      const size_t at = static_cast<size_t>(peer) * count;
      if (count > 1 || peer != rig.rank) {
        check.ok(ncclSend(&rig.in[at], count, ncclFloat, peer, comm, streams[0]), "Send");
        check.ok(ncclRecv(&rig.out[at], count, ncclFloat, peer, comm, streams[0]), "Recv");
      }
    }
    check.ok(ncclAllReduce(rig.in.data(), rig.out.data() + kLargest * 7, 100, ncclFloat, ncclSum,
                           comm, streams[1]),
             "AllReduce");
    check.ok(ncclGroupEnd(), "GroupEnd");
  }
}

void one_round(Rig& rig, bool real, RankCheck& check) {
  collectives(rig, real ? rig.streams[0] : nullptr, check);
  groups(rig, real ? rig.streams : std::array<cudaStream_t, 2>{nullptr, nullptr}, check);
  for (const acclStream_t stream : rig.streams) check.ok(acclStreamSynchronize(stream), "sync");
}

// The deepest that the streams' queues get: everything waits until the whole round is submitted.
void gated_round(Rig& rig, RankCheck& check) {
  std::atomic<bool> open{false};
  const auto gate = [](void* at) {
    return static_cast<std::atomic<bool>*>(at)->load() ? acclPollDone : acclPollPending;
  };
  for (const acclStream_t stream : rig.streams) {
    check.ok(acclStreamPoll(stream, gate, &open), "gate");
  }
  collectives(rig, rig.streams[0], check);
  groups(rig, rig.streams, check);
  open.store(true);
  for (const acclStream_t stream : rig.streams) check.ok(acclStreamSynchronize(stream), "sync");
}

// Peers may be anywhere in a round while this rank counts; a barrier before and after keeps other
// ranks of the same process inside their rounds, too.
void barrier(ncclComm_t comm, RankCheck& check) {
  float value = 1;
  check.ok(ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr), "barrier");
}

class Allocations : public testing::TestWithParam<std::tuple<RankKind, int, bool>> {};

TEST_P(Allocations, NoneOnceWarm) {
  const auto [kind, ranks, real] = GetParam();
  EXPECT_TRUE(run_with_comm(
      kind, ranks,
      [ranks = ranks, real = real](int rank, ncclComm_t comm, RankCheck& check) {
        Rig rig{.ranks = ranks, .rank = rank, .comm = comm};
        for (acclStream_t& stream : rig.streams) check.ok(acclStreamCreate(&stream), "stream");
        for (int i = 0; i < 3; i++) gated_round(rig, check);
        for (int i = 0; i < 5; i++) one_round(rig, real, check);
        for (int i = 0; i < 3; i++) barrier(comm, check);
        const long before = allocations.load();
        for (int i = 0; i < 10; i++) one_round(rig, real, check);
        const long after = allocations.load();
        for (int i = 0; i < 3; i++) barrier(comm, check);
        check.that(after == before, std::to_string(after - before) + " allocations in 10 rounds");
        for (const acclStream_t stream : rig.streams) check.ok(acclStreamDestroy(stream), "stream");
      },
      std::chrono::seconds(100)));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Allocations,
                         testing::Combine(testing::Values(RankKind::kProcesses, RankKind::kThreads),
                                          testing::Values(2, 8), testing::Bool()),
                         [](const auto& test) {
                           return name_of(std::get<0>(test.param)) +
                                  std::to_string(std::get<1>(test.param)) +
                                  (std::get<2>(test.param) ? "Stream" : "Null");
                         });

TEST(AllocationsCounter, Counts) {
  void* (*volatile allocate)(size_t) = std::malloc;
  const long before = allocations.load();
  std::free(allocate(100));
  EXPECT_EQ(allocations.load(), before + 1);
}

}  // namespace
}  // namespace accl
#else
TEST(Allocations, NoneOnceWarm) { GTEST_SKIP() << "a sanitizer has malloc's place"; }
#endif
