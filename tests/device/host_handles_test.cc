// Handles that are none, and the names of errors.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "accl/device.h"
#include "tests/device/host_fixture.h"

namespace accl::host {
namespace {

/// Every call that takes a stream, with a handle that is none.
void expect_refused(acclStream_t stream) {
  OwnEvent event;
  int device = 0;
  char byte = 0;
  Gate gate;
  const std::array<acclError_t, 10> answers = {
      acclStreamDestroy(stream),
      acclStreamSynchronize(stream),
      acclStreamQuery(stream),
      acclStreamDevice(stream, &device),
      acclStreamReset(stream),
      acclLaunchHostFunc(stream, increment, &gate),
      acclStreamPoll(stream, Gate::poll, &gate),
      acclMemcpyAsync(&byte, &byte, 1, stream),
      acclEventRecord(event, stream),
      acclStreamWaitEvent(stream, event),
  };
  for (const acclError_t answer : answers) EXPECT_EQ(answer, acclErrorInvalidHandle) << stream;
  EXPECT_NE(last_text().find("is not a live stream"), std::string::npos) << last_text();
  EXPECT_EQ(acclStreamIsIdle(stream), 0);
  EXPECT_EQ(gate.polls, 0);
}

TEST(HostHandles, GarbageIsRefused) {
  OwnStream live;
  OwnEvent event;
  int local = 0;
  const auto near = std::bit_cast<uint64_t>(static_cast<acclStream_t>(live));
  for (const uint64_t value :
       {uint64_t{1}, uint64_t{2}, uint64_t{0xdeadbeef}, UINT64_MAX, near + 1, near - 1, near + 16,
        near + (uint64_t{1} << 23), near ^ (uint64_t{1} << 24), near ^ (uint64_t{1} << 47),
        std::bit_cast<uint64_t>(&local),
        std::bit_cast<uint64_t>(static_cast<acclEvent_t>(event))}) {
    expect_refused(std::bit_cast<acclStream_t>(value));
  }
}

TEST(HostHandles, DestroyedStreamsAreRefused) {
  acclStream_t stream = nullptr;
  ASSERT_EQ(acclStreamCreate(&stream), acclSuccess);
  ASSERT_EQ(acclStreamDestroy(stream), acclSuccess);
  expect_refused(stream);
  std::array<OwnStream, 4> successors;
  expect_refused(stream);
}

TEST(HostHandles, GarbageEventsAreRefused) {
  OwnStream stream;
  acclEvent_t destroyed = nullptr;
  ASSERT_EQ(acclEventCreate(&destroyed), acclSuccess);
  ASSERT_EQ(acclEventDestroy(destroyed), acclSuccess);
  OwnEvent live;
  float elapsed_ms = 0;
  for (const acclEvent_t event :
       {static_cast<acclEvent_t>(nullptr), destroyed, std::bit_cast<acclEvent_t>(uint64_t{1}),
        std::bit_cast<acclEvent_t>(static_cast<acclStream_t>(stream))}) {
    EXPECT_EQ(acclEventDestroy(event), acclErrorInvalidHandle);
    EXPECT_EQ(acclEventRecord(event, stream), acclErrorInvalidHandle);
    EXPECT_EQ(acclEventQuery(event), acclErrorInvalidHandle);
    EXPECT_EQ(acclEventSynchronize(event), acclErrorInvalidHandle);
    EXPECT_EQ(acclEventElapsedTime(&elapsed_ms, live, event), acclErrorInvalidHandle);
    EXPECT_EQ(acclStreamWaitEvent(stream, event), acclErrorInvalidHandle);
    EXPECT_NE(last_text().find("is not a live event"), std::string::npos) << last_text();
  }
}

TEST(HostHandles, AreAlignedLikePointers) {
  // Callers keep flags in the low bits of stream pointers.
  OwnStream stream;
  OwnEvent event;
  EXPECT_EQ(std::bit_cast<uint64_t>(static_cast<acclStream_t>(stream)) % 16, 0u);
  EXPECT_EQ(std::bit_cast<uint64_t>(static_cast<acclEvent_t>(event)) % 16, 0u);
}

TEST(HostErrors, HaveNamesAndSentences) {
  EXPECT_STREQ(acclGetErrorName(acclErrorInvalidHandle), "acclErrorInvalidHandle");
  EXPECT_STREQ(acclGetErrorString(acclErrorInvalidHandle), "not a live stream or event");
  EXPECT_STREQ(acclGetErrorName(acclErrorLaunchFailure), "acclErrorLaunchFailure");
  EXPECT_STREQ(acclGetErrorString(acclErrorNotReady), "work is pending");
}

}  // namespace
}  // namespace accl::host
