// Nothing is allocated once warm: neither by submitting and running operations, nor by recording
// and waiting, nor by creating and destroying streams and events. Counts malloc itself.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "accl/device.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ACCL_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ACCL_TEST_SANITIZED 1
#endif
#endif

#ifndef ACCL_TEST_SANITIZED
namespace {
std::atomic<long> allocations{0};
}

// glibc's own names are behind malloc. Visible, so that the libraries (libstdc++'s operator new,
// too) come this way.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* malloc(size_t bytes) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
}
#pragma GCC visibility pop

namespace accl::host {
namespace {

struct Work {
  acclStream_t streams[2] = {};
  acclEvent_t event = nullptr;
  std::atomic<int> ran{0};
  char from[64] = {};
  char to[64] = {};
};

/// One of each operation, many in flight.
bool one_round(Work& work) {
  const auto done = [](void*) { return acclPollDone; };
  const auto count = [](void* argument) { static_cast<std::atomic<int>*>(argument)->fetch_add(1); };
  bool good = true;
  for (int i = 0; i < 10; ++i) {
    good &= acclStreamPoll(work.streams[0], done, nullptr) == acclSuccess;
    good &= acclMemcpyAsync(work.to, work.from, 64, work.streams[0]) == acclSuccess;
    good &= acclEventRecord(work.event, work.streams[0]) == acclSuccess;
    good &= acclStreamWaitEvent(work.streams[1], work.event) == acclSuccess;
    good &= acclLaunchHostFunc(work.streams[1], count, &work.ran) == acclSuccess;
    good &= acclMemsetAsync(work.from, i, 64, work.streams[1]) == acclSuccess;
  }
  good &= acclEventSynchronize(work.event) == acclSuccess;
  good &= acclStreamSynchronize(work.streams[1]) == acclSuccess;
  acclStream_t brief = nullptr;
  acclEvent_t mark = nullptr;
  good &= acclStreamCreate(&brief) == acclSuccess && acclEventCreate(&mark) == acclSuccess;
  good &= acclEventRecord(mark, brief) == acclSuccess;
  good &= acclEventDestroy(mark) == acclSuccess && acclStreamDestroy(brief) == acclSuccess;
  return good;
}

TEST(HostAllocations, TheCounterCounts) {
  // Through pointers that the compiler cannot see through: it may leave out pairs that it can.
  void* (*volatile allocate)(size_t) = std::malloc;
  void* (*volatile make)(size_t) = [](size_t bytes) { return ::operator new(bytes); };
  const long before = allocations;
  std::free(allocate(10));
  ::operator delete(make(10));
  EXPECT_EQ(allocations - before, 2);
}

TEST(HostAllocations, NoneOnceWarm) {
  Work work;
  ASSERT_EQ(acclStreamCreate(&work.streams[0]), acclSuccess);
  ASSERT_EQ(acclStreamCreate(&work.streams[1]), acclSuccess);
  ASSERT_EQ(acclEventCreate(&work.event), acclSuccess);
  // How many moments are in flight at once depends on the worker's pace: warm for the most, with
  // the streams held.
  static std::atomic<bool> held{true};
  const auto hold = [](void*) { return held ? acclPollPending : acclPollDone; };
  const auto done = [](void*) { return acclPollDone; };
  ASSERT_EQ(acclStreamPoll(work.streams[0], hold, nullptr), acclSuccess);
  ASSERT_EQ(acclStreamPoll(work.streams[1], hold, nullptr), acclSuccess);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(acclEventRecord(work.event, work.streams[0]), acclSuccess);
    ASSERT_EQ(acclStreamPoll(work.streams[1], done, nullptr), acclSuccess);
  }
  held = false;
  ASSERT_EQ(acclStreamSynchronize(work.streams[0]), acclSuccess);
  ASSERT_EQ(acclStreamSynchronize(work.streams[1]), acclSuccess);
  ASSERT_TRUE(one_round(work));

  const long before = allocations;
  bool good = true;
  for (int i = 0; i < 2000; ++i) good &= one_round(work);
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(good);
  EXPECT_EQ(work.ran, 2001 * 10);
  EXPECT_EQ(acclStreamDestroy(work.streams[0]), acclSuccess);
  EXPECT_EQ(acclStreamDestroy(work.streams[1]), acclSuccess);
  EXPECT_EQ(acclEventDestroy(work.event), acclSuccess);
}

}  // namespace
}  // namespace accl::host
#else
TEST(HostAllocations, NoneOnceWarm) { GTEST_SKIP() << "a sanitizer has malloc"; }
#endif
