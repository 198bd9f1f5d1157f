// Many threads at many streams: for the thread sanitizer, and for lost or doubled work.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "accl/device.h"
#include "src/base/rng.h"

namespace accl::host {
namespace {

constexpr int kThreads = 6;
constexpr int kRounds = 400;

void increment(void* argument) { static_cast<std::atomic<int>*>(argument)->fetch_add(1); }

/// Order within a stream, without locks: a plain variable that only the stream's work touches.
void increment_plain(void* argument) { *static_cast<int*>(argument) += 1; }

void run_threads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(HostStress, AllSubmitToAndWaitForOneStream) {
  acclStream_t stream = nullptr;
  ASSERT_EQ(acclStreamCreate(&stream), acclSuccess);
  int plain = 0;
  std::atomic<int> errors{0};
  run_threads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      errors += acclLaunchHostFunc(stream, increment_plain, &plain) != acclSuccess;
      if (round % 3 == 0) errors += acclStreamSynchronize(stream) != acclSuccess;
      if (round % 3 == 1) acclStreamQuery(stream);
    }
  });
  EXPECT_EQ(acclStreamSynchronize(stream), acclSuccess);
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(plain, kThreads * kRounds);
  EXPECT_EQ(acclStreamDestroy(stream), acclSuccess);
}

TEST(HostStress, PollsOfOneStreamNeverOverlap) {
  acclStream_t stream = nullptr;
  ASSERT_EQ(acclStreamCreate(&stream), acclSuccess);
  static int plain = 0;  // a race here is what the thread sanitizer looks for
  plain = 0;
  const auto third_time = [](void*) { return ++plain % 3 == 0 ? acclPollDone : acclPollPending; };
  std::atomic<int> errors{0};
  run_threads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      errors += acclStreamPoll(stream, third_time, nullptr) != acclSuccess;
      if (round % 8 == 0) errors += acclStreamSynchronize(stream) != acclSuccess;
    }
  });
  EXPECT_EQ(acclStreamSynchronize(stream), acclSuccess);
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(plain, kThreads * kRounds * 3);
  EXPECT_EQ(acclStreamDestroy(stream), acclSuccess);
}

TEST(HostStress, StreamsComeAndGoWithTheirWork) {
  std::atomic<int> ran{0};
  std::atomic<int> errors{0};
  run_threads([&](int thread) {
    errors += acclSetDevice(thread % 3) != acclSuccess;
    for (int round = 0; round < kRounds; ++round) {
      acclStream_t stream = nullptr;
      acclEvent_t event = nullptr;
      errors += acclStreamCreate(&stream) != acclSuccess;
      errors += acclEventCreate(&event) != acclSuccess;
      errors += acclLaunchHostFunc(stream, increment, &ran) != acclSuccess;
      errors += acclEventRecord(event, stream) != acclSuccess;
      errors += acclStreamDestroy(stream) != acclSuccess;
      errors += acclStreamQuery(stream) != acclErrorInvalidHandle;
      errors += acclEventSynchronize(event) != acclSuccess;
      errors += acclEventDestroy(event) != acclSuccess;
    }
  });
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(ran, kThreads * kRounds);
}

TEST(HostStress, EventsAreRecordedAndWaitedForByAll) {
  std::array<acclStream_t, 4> streams{};
  std::array<acclEvent_t, 4> events{};
  for (acclStream_t& stream : streams) ASSERT_EQ(acclStreamCreate(&stream), acclSuccess);
  for (acclEvent_t& event : events) ASSERT_EQ(acclEventCreate(&event), acclSuccess);
  std::atomic<int> ran{0};
  std::atomic<int> launched{0};
  std::atomic<int> errors{0};
  run_threads([&](int thread) {
    Rng rng(static_cast<uint64_t>(thread) + 1);
    for (int round = 0; round < kRounds * 4; ++round) {
      const acclStream_t stream = streams[rng.below(4)];
      const acclEvent_t event = events[rng.below(4)];
      switch (rng.below(6)) {
        case 0:
          errors += acclLaunchHostFunc(stream, increment, &ran) != acclSuccess;
          ++launched;
          break;
        case 1:
          errors += acclEventRecord(event, stream) != acclSuccess;
          break;
        case 2:
          errors += acclStreamWaitEvent(stream, event) != acclSuccess;
          break;
        case 3:
          errors += acclEventSynchronize(event) != acclSuccess;
          break;
        case 4:
          acclEventQuery(event);
          break;
        default:
          errors += acclStreamSynchronize(stream) != acclSuccess;
      }
    }
  });
  for (acclStream_t stream : streams) {
    EXPECT_EQ(acclStreamSynchronize(stream), acclSuccess);
    EXPECT_EQ(acclStreamDestroy(stream), acclSuccess);
  }
  for (acclEvent_t event : events) EXPECT_EQ(acclEventDestroy(event), acclSuccess);
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(ran, launched);
}

TEST(HostStress, FailuresAndResetsAgainstSubmitters) {
  acclStream_t stream = nullptr;
  ASSERT_EQ(acclStreamCreate(&stream), acclSuccess);
  std::atomic<int> odd{0};
  std::atomic<int> ran{0};
  std::atomic<int> accepted{0};
  const auto fail = [](void*) { return acclPollFailed; };
  run_threads([&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      const acclError_t error = thread == 0   ? acclStreamPoll(stream, fail, nullptr)
                                : thread == 1 ? acclStreamReset(stream)
                                              : acclLaunchHostFunc(stream, increment, &ran);
      odd += error != acclSuccess && error != acclErrorLaunchFailure;
      accepted += thread > 1 && error == acclSuccess;
      const acclError_t waited = acclStreamSynchronize(stream);
      odd += waited != acclSuccess && waited != acclErrorLaunchFailure;
    }
  });
  EXPECT_EQ(acclStreamReset(stream), acclSuccess);
  EXPECT_EQ(acclStreamSynchronize(stream), acclSuccess);
  EXPECT_EQ(odd, 0);
  EXPECT_LE(ran, accepted);
  EXPECT_EQ(acclStreamDestroy(stream), acclSuccess);
}

TEST(HostStress, MemoryFromAllThreads) {
  std::atomic<int> errors{0};
  run_threads([&](int thread) {
    for (int round = 0; round < kRounds / 4; ++round) {
      void* memory = nullptr;
      acclPointerAttributes_t attributes{};
      errors += (thread % 2 == 0 ? acclMalloc(&memory, 5000) : acclMallocShared(&memory, 5000)) !=
                acclSuccess;
      errors += acclMemset(memory, thread, 5000) != acclSuccess;
      errors += acclPointerGetAttributes(&attributes, memory) != acclSuccess;
      errors += attributes.base != memory || attributes.bytes != 5000;
      errors += acclFree(memory) != acclSuccess;
    }
  });
  EXPECT_EQ(errors, 0);
}

}  // namespace
}  // namespace accl::host
