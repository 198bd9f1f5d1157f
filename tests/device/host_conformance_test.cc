// What a device's streams and events must do, whoever implements them. Written against the C API
// alone, so that another device behind the same header runs the same suite.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "accl/device.h"
#include "tests/device/host_fixture.h"

namespace accl::host {
namespace {

TEST(HostStream, WorkRunsInOrder) {
  OwnStream stream;
  struct Entry {
    std::vector<int>* log;
    int number;
  };
  std::vector<int> log;
  std::vector<Entry> entries;
  for (int i = 0; i < 1000; ++i) entries.push_back({&log, i});
  for (Entry& entry : entries) {
    ASSERT_EQ(acclLaunchHostFunc(
                  stream,
                  [](void* argument) {
                    const auto& mine = *static_cast<Entry*>(argument);
                    mine.log->push_back(mine.number);
                  },
                  &entry),
              acclSuccess);
  }
  ASSERT_EQ(acclStreamSynchronize(stream), acclSuccess);
  ASSERT_EQ(log.size(), 1000u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(log[static_cast<size_t>(i)], i);
}

TEST(HostStream, CopiesAndSetsDoWhatTheySay) {
  OwnStream stream;
  std::array<char, 64> first{};
  std::array<char, 64> second{};
  ASSERT_EQ(acclMemsetAsync(first.data(), 'x', 63, stream), acclSuccess);
  ASSERT_EQ(acclMemcpyAsync(second.data(), first.data(), 64, stream), acclSuccess);
  ASSERT_EQ(acclMemcpyAsync(second.data() + 1, second.data(), 10, stream), acclSuccess);
  ASSERT_EQ(acclMemcpyAsync(nullptr, nullptr, 0, stream), acclSuccess);
  ASSERT_EQ(acclStreamSynchronize(stream), acclSuccess);
  EXPECT_EQ(std::string(second.data()), std::string(63, 'x'));
  EXPECT_EQ(acclMemcpyAsync(nullptr, first.data(), 1, stream), acclErrorInvalidValue);
  EXPECT_EQ(last_text(), "to is NULL");
}

TEST(HostStream, WorkIsDoneThoughNobodyWaits) {
  OwnStream stream;
  std::atomic<int> ran{0};
  ASSERT_EQ(acclLaunchHostFunc(stream, increment, &ran), acclSuccess);
  await([&] { return ran == 1; });
  await([&] { return acclStreamIsIdle(stream) == 1; });
  // And after the worker has been asleep for a while.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  ASSERT_EQ(acclLaunchHostFunc(stream, increment, &ran), acclSuccess);
  await([&] { return ran == 2; });
}

TEST(HostStream, PollsEndThoughNobodyWaits) {
  OwnStream stream;
  Gate gate;
  std::atomic<int> ran{0};
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &gate), acclSuccess);
  ASSERT_EQ(acclLaunchHostFunc(stream, increment, &ran), acclSuccess);
  await([&] { return gate.polls > 2; });
  EXPECT_EQ(ran, 0);
  gate.open();
  await([&] { return ran == 1; });
}

TEST(HostStream, QueryAndIdleTellHowItStands) {
  OwnStream stream;
  Gate gate;
  EXPECT_EQ(acclStreamQuery(stream), acclSuccess);
  EXPECT_EQ(acclStreamIsIdle(stream), 1);
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &gate), acclSuccess);
  EXPECT_EQ(acclStreamQuery(stream), acclErrorNotReady);
  EXPECT_EQ(acclStreamIsIdle(stream), 0);
  gate.open();
  await([&] { return acclStreamQuery(stream) == acclSuccess; });
  EXPECT_EQ(acclStreamIsIdle(stream), 1);
}

TEST(HostStream, TheWaiterPollsAndNeverTwoAtOnce) {
  OwnStream stream;
  Gate gate;
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &gate), acclSuccess);
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] { EXPECT_EQ(acclStreamSynchronize(stream), acclSuccess); });
  }
  await([&] { return gate.polls > 1000; });
  gate.open();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_FALSE(gate.overlapped);
}

TEST(HostStream, TheWaiterDoesNotWaitForLaterWork) {
  OwnStream stream;
  Gate first;
  Gate second;
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &first), acclSuccess);
  std::atomic<bool> returned{false};
  std::thread waiter([&] {
    EXPECT_EQ(acclStreamSynchronize(stream), acclSuccess);
    returned = true;
  });
  await([&] { return first.polls > 1000; });  // mostly the waiter's: it is in there
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &second), acclSuccess);
  first.open();
  waiter.join();
  EXPECT_TRUE(returned);
  EXPECT_EQ(acclStreamIsIdle(stream), 0);
  second.open();
  EXPECT_EQ(acclStreamSynchronize(stream), acclSuccess);
}

TEST(HostStream, NullIsSynchronous) {
  std::atomic<int> ran{0};
  EXPECT_EQ(acclLaunchHostFunc(nullptr, increment, &ran), acclSuccess);
  EXPECT_EQ(ran, 1);
  int left = 1000;
  const acclPollFn_t count_down = [](void* argument) {
    return --*static_cast<int*>(argument) > 0 ? acclPollPending : acclPollDone;
  };
  EXPECT_EQ(acclStreamPoll(nullptr, count_down, &left), acclSuccess);
  EXPECT_EQ(left, 0);
  Gate failing;
  failing.fail();
  EXPECT_EQ(acclStreamPoll(nullptr, Gate::poll, &failing), acclErrorLaunchFailure);
  EXPECT_EQ(last_text(), "the polled operation reported failure");
  char from = 'a';
  char to = 'b';
  EXPECT_EQ(acclMemcpyAsync(&to, &from, 1, nullptr), acclSuccess);
  EXPECT_EQ(to, 'a');
  EXPECT_EQ(acclStreamSynchronize(nullptr), acclSuccess);
  EXPECT_EQ(acclStreamQuery(nullptr), acclSuccess);
  EXPECT_EQ(acclStreamIsIdle(nullptr), 1);
  EXPECT_EQ(acclStreamDestroy(nullptr), acclErrorInvalidHandle);
}

TEST(HostStream, DestroyReturnsAtOnceAndTheWorkIsDone) {
  acclStream_t stream = nullptr;
  ASSERT_EQ(acclStreamCreate(&stream), acclSuccess);
  Gate gate;
  std::atomic<int> ran{0};
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &gate), acclSuccess);
  ASSERT_EQ(acclLaunchHostFunc(stream, increment, &ran), acclSuccess);
  OwnEvent event;
  ASSERT_EQ(acclEventRecord(event, stream), acclSuccess);
  ASSERT_EQ(acclStreamDestroy(stream), acclSuccess);
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(acclStreamSynchronize(stream), acclErrorInvalidHandle);
  EXPECT_EQ(acclEventQuery(event), acclErrorNotReady);
  gate.open();
  await([&] { return ran == 1; });
  EXPECT_EQ(acclEventSynchronize(event), acclSuccess);
}

TEST(HostStream, DevicesAreChosenPerThread) {
  int count = 0;
  ASSERT_EQ(acclGetDeviceCount(&count), acclSuccess);
  EXPECT_EQ(count, 8);
  EXPECT_EQ(acclSetDevice(count), acclErrorInvalidDevice);
  EXPECT_EQ(last_text(), "device 8 of 8 (0 to 7; see ACCL_HOST_DEVICES)");
  EXPECT_EQ(acclSetDevice(-1), acclErrorInvalidDevice);
  ASSERT_EQ(acclSetDevice(5), acclSuccess);
  OwnStream stream;
  int device = -1;
  std::thread([&] { EXPECT_EQ(acclGetDevice(&device), acclSuccess); }).join();
  EXPECT_EQ(device, 0);
  EXPECT_EQ(acclStreamDevice(nullptr, &device), acclSuccess);
  EXPECT_EQ(device, 5);
  ASSERT_EQ(acclSetDevice(0), acclSuccess);
  EXPECT_EQ(acclStreamDevice(stream, &device), acclSuccess);
  EXPECT_EQ(device, 5);
}

TEST(HostStream, DeviceSynchronizeWaitsForItsStreams) {
  ASSERT_EQ(acclSetDevice(2), acclSuccess);
  OwnStream first;
  OwnStream second;
  ASSERT_EQ(acclSetDevice(1), acclSuccess);
  OwnStream elsewhere;
  Gate never;
  ASSERT_EQ(acclStreamPoll(elsewhere, Gate::poll, &never), acclSuccess);
  std::atomic<int> ran{0};
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(acclLaunchHostFunc(first, increment, &ran), acclSuccess);
    ASSERT_EQ(acclLaunchHostFunc(second, increment, &ran), acclSuccess);
  }
  ASSERT_EQ(acclSetDevice(2), acclSuccess);
  EXPECT_EQ(acclDeviceSynchronize(), acclSuccess);
  EXPECT_EQ(ran, 20);
  ASSERT_EQ(acclSetDevice(0), acclSuccess);
  never.open();
  EXPECT_EQ(acclStreamSynchronize(elsewhere), acclSuccess);
}

TEST(HostStream, OperationsMustNotWait) {
  OwnStream stream;
  struct Try {
    acclStream_t stream;
    acclEvent_t event;
    std::vector<acclError_t> answers;
  };
  OwnEvent event;
  Try tried{stream, event, {}};
  ASSERT_EQ(acclLaunchHostFunc(
                stream,
                [](void* argument) {
                  auto& mine = *static_cast<Try*>(argument);
                  mine.answers.push_back(acclStreamSynchronize(mine.stream));
                  mine.answers.push_back(acclEventSynchronize(mine.event));
                  mine.answers.push_back(acclDeviceSynchronize());
                },
                &tried),
            acclSuccess);
  ASSERT_EQ(acclStreamSynchronize(stream), acclSuccess);
  EXPECT_EQ(tried.answers, std::vector<acclError_t>(3, acclErrorNotPermitted));
}

TEST(HostStream, OperationsMaySubmitWork) {
  OwnStream stream;
  struct Chain {
    acclStream_t stream;
    std::atomic<int> left;
  };
  Chain chain{stream, 10};
  static const acclHostFn_t next = [](void* argument) {
    auto& mine = *static_cast<Chain*>(argument);
    if (mine.left.fetch_sub(1) > 1) acclLaunchHostFunc(mine.stream, next, argument);
  };
  ASSERT_EQ(acclLaunchHostFunc(stream, next, &chain), acclSuccess);
  await([&] { return chain.left == 0; });
  EXPECT_EQ(acclStreamSynchronize(stream), acclSuccess);
}

TEST(HostStream, AFailureStopsTheStreamUntilReset) {
  OwnStream stream;
  Gate gate;
  std::atomic<int> ran{0};
  OwnEvent before;
  OwnEvent after;
  Gate hold;
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &hold), acclSuccess);
  ASSERT_EQ(acclEventRecord(before, stream), acclSuccess);
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &gate), acclSuccess);
  ASSERT_EQ(acclLaunchHostFunc(stream, increment, &ran), acclSuccess);
  ASSERT_EQ(acclEventRecord(after, stream), acclSuccess);
  hold.open();
  gate.fail();
  EXPECT_EQ(acclStreamSynchronize(stream), acclErrorLaunchFailure);
  EXPECT_NE(last_text().find("an operation on it reported failure"), std::string::npos);
  EXPECT_EQ(acclStreamQuery(stream), acclErrorLaunchFailure);
  EXPECT_EQ(acclStreamIsIdle(stream), 0);
  EXPECT_EQ(acclLaunchHostFunc(stream, increment, &ran), acclErrorLaunchFailure);
  EXPECT_EQ(acclEventRecord(before, stream), acclErrorLaunchFailure);
  EXPECT_EQ(acclEventQuery(before), acclSuccess) << "reached before the failure";
  EXPECT_EQ(acclEventQuery(after), acclErrorLaunchFailure);
  EXPECT_EQ(acclEventSynchronize(after), acclErrorLaunchFailure);
  EXPECT_EQ(last_text(), "the stream of the event's record failed before reaching it");
  float elapsed_ms = 0;
  EXPECT_EQ(acclEventElapsedTime(&elapsed_ms, before, after), acclErrorLaunchFailure);
  const int polls = gate.polls;

  ASSERT_EQ(acclStreamReset(stream), acclSuccess);
  EXPECT_EQ(acclStreamIsIdle(stream), 1);
  EXPECT_EQ(acclEventQuery(after), acclErrorLaunchFailure) << "what was stopped stays failed";
  ASSERT_EQ(acclLaunchHostFunc(stream, increment, &ran), acclSuccess);
  EXPECT_EQ(acclStreamSynchronize(stream), acclSuccess);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(gate.polls, polls);
}

TEST(HostStream, AWaiterLearnsOfAFailureThatIsResetMeanwhile) {
  OwnStream stream;
  Gate gate;
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &gate), acclSuccess);
  std::atomic<acclError_t> answer{acclSuccess};
  std::atomic<bool> returned{false};
  std::thread waiter([&] {
    answer = acclStreamSynchronize(stream);
    returned = true;
  });
  await([&] { return gate.polls > 1000; });
  gate.fail();
  while (!returned) acclStreamReset(stream);
  waiter.join();
  EXPECT_EQ(answer, acclErrorLaunchFailure);
}

TEST(HostStream, AFailedStreamCanBeDestroyed) {
  acclStream_t stream = nullptr;
  ASSERT_EQ(acclStreamCreate(&stream), acclSuccess);
  Gate gate;
  gate.fail();
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &gate), acclSuccess);
  EXPECT_EQ(acclStreamSynchronize(stream), acclErrorLaunchFailure);
  EXPECT_EQ(acclStreamDestroy(stream), acclSuccess);
  OwnStream next;  // most likely in the same slot
  EXPECT_EQ(acclStreamSynchronize(next), acclSuccess);
  EXPECT_EQ(acclStreamSynchronize(stream), acclErrorInvalidHandle);
}

TEST(HostEvent, WithoutARecordThereIsNothingToWaitFor) {
  OwnEvent event;
  OwnStream stream;
  EXPECT_EQ(acclEventQuery(event), acclSuccess);
  EXPECT_EQ(acclEventSynchronize(event), acclSuccess);
  EXPECT_EQ(acclStreamWaitEvent(stream, event), acclSuccess);
  EXPECT_EQ(acclStreamIsIdle(stream), 1);
  float elapsed_ms = 0;
  EXPECT_EQ(acclEventElapsedTime(&elapsed_ms, event, event), acclErrorInvalidHandle);
  EXPECT_EQ(last_text(), "event `start` was never recorded");
}

TEST(HostEvent, OnAnIdleStreamTheMomentIsNow) {
  OwnEvent event;
  OwnStream stream;
  ASSERT_EQ(acclEventRecord(event, stream), acclSuccess);
  EXPECT_EQ(acclStreamIsIdle(stream), 1) << "nothing had to be queued";
  EXPECT_EQ(acclEventQuery(event), acclSuccess);
  ASSERT_EQ(acclEventRecord(event, nullptr), acclSuccess);
  EXPECT_EQ(acclEventQuery(event), acclSuccess);
}

TEST(HostEvent, SynchronizeRunsTheWorkBefore) {
  OwnEvent event;
  OwnStream stream;
  std::atomic<int> ran{0};
  Gate later;
  ASSERT_EQ(acclLaunchHostFunc(stream, increment, &ran), acclSuccess);
  ASSERT_EQ(acclEventRecord(event, stream), acclSuccess);
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &later), acclSuccess);
  ASSERT_EQ(acclEventSynchronize(event), acclSuccess);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(acclStreamIsIdle(stream), 0);
  later.open();
  EXPECT_EQ(acclStreamSynchronize(stream), acclSuccess);
}

TEST(HostEvent, QueryFollowsTheStream) {
  OwnEvent event;
  OwnStream stream;
  Gate gate;
  ASSERT_EQ(acclStreamPoll(stream, Gate::poll, &gate), acclSuccess);
  ASSERT_EQ(acclEventRecord(event, stream), acclSuccess);
  EXPECT_EQ(acclEventQuery(event), acclErrorNotReady);
  float elapsed_ms = 0;
  EXPECT_EQ(acclEventElapsedTime(&elapsed_ms, event, event), acclErrorNotReady);
  gate.open();
  await([&] { return acclEventQuery(event) == acclSuccess; });
}

TEST(HostEvent, ElapsedTimeIsThatOfTheMoments) {
  OwnEvent start;
  OwnEvent end;
  OwnStream stream;
  ASSERT_EQ(acclEventRecord(start, stream), acclSuccess);
  const auto nap = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  ASSERT_EQ(acclLaunchHostFunc(stream, nap, nullptr), acclSuccess);
  ASSERT_EQ(acclEventRecord(end, stream), acclSuccess);
  ASSERT_EQ(acclEventSynchronize(end), acclSuccess);
  float elapsed_ms = 0;
  ASSERT_EQ(acclEventElapsedTime(&elapsed_ms, start, end), acclSuccess);
  EXPECT_GE(elapsed_ms, 20.0f);
  float backwards_ms = 0;
  ASSERT_EQ(acclEventElapsedTime(&backwards_ms, end, start), acclSuccess);
  EXPECT_EQ(backwards_ms, -elapsed_ms);
}

TEST(HostEvent, AStreamWaitsForAnother) {
  OwnStream producer;
  OwnStream consumer;
  OwnEvent event;
  Gate gate;
  int value = 0;
  int seen = -1;
  ASSERT_EQ(acclStreamPoll(producer, Gate::poll, &gate), acclSuccess);
  const auto produce = [](void* argument) { *static_cast<int*>(argument) = 42; };
  ASSERT_EQ(acclLaunchHostFunc(producer, produce, &value), acclSuccess);
  ASSERT_EQ(acclEventRecord(event, producer), acclSuccess);
  ASSERT_EQ(acclStreamWaitEvent(consumer, event), acclSuccess);
  ASSERT_EQ(acclMemcpyAsync(&seen, &value, sizeof value, consumer), acclSuccess);
  EXPECT_EQ(acclStreamQuery(consumer), acclErrorNotReady);
  gate.open();
  ASSERT_EQ(acclStreamSynchronize(consumer), acclSuccess);  // runs the producer's work, too
  EXPECT_EQ(seen, 42);
}

TEST(HostEvent, AWaitHoldsForTheRecordBeforeIt) {
  OwnStream producer;
  OwnStream other;
  OwnStream consumer;
  acclEvent_t event = nullptr;
  ASSERT_EQ(acclEventCreate(&event), acclSuccess);
  Gate gate;
  Gate later;
  std::atomic<int> ran{0};
  ASSERT_EQ(acclStreamPoll(producer, Gate::poll, &gate), acclSuccess);
  ASSERT_EQ(acclEventRecord(event, producer), acclSuccess);
  ASSERT_EQ(acclStreamWaitEvent(consumer, event), acclSuccess);
  ASSERT_EQ(acclLaunchHostFunc(consumer, increment, &ran), acclSuccess);
  // Neither a record that is reached at once, nor one that is not, nor the event's end matters.
  ASSERT_EQ(acclEventRecord(event, other), acclSuccess);
  EXPECT_EQ(acclEventQuery(event), acclSuccess);
  EXPECT_EQ(acclStreamQuery(consumer), acclErrorNotReady);
  ASSERT_EQ(acclStreamPoll(other, Gate::poll, &later), acclSuccess);
  ASSERT_EQ(acclEventRecord(event, other), acclSuccess);
  ASSERT_EQ(acclEventDestroy(event), acclSuccess);
  EXPECT_EQ(ran, 0);
  gate.open();
  EXPECT_EQ(acclStreamSynchronize(consumer), acclSuccess);
  EXPECT_EQ(ran, 1);
  later.open();
  EXPECT_EQ(acclStreamSynchronize(other), acclSuccess);
}

TEST(HostEvent, NullWaitsInTheCall) {
  OwnStream stream;
  OwnEvent event;
  std::atomic<int> ran{0};
  ASSERT_EQ(acclLaunchHostFunc(stream, increment, &ran), acclSuccess);
  ASSERT_EQ(acclEventRecord(event, stream), acclSuccess);
  EXPECT_EQ(acclStreamWaitEvent(nullptr, event), acclSuccess);
  EXPECT_EQ(ran, 1);
}

TEST(HostEvent, AFailureReachesTheStreamsThatWaitForIt) {
  OwnStream producer;
  OwnStream consumer;
  OwnEvent event;
  Gate gate;
  std::atomic<int> ran{0};
  ASSERT_EQ(acclStreamPoll(producer, Gate::poll, &gate), acclSuccess);
  ASSERT_EQ(acclEventRecord(event, producer), acclSuccess);
  ASSERT_EQ(acclStreamWaitEvent(consumer, event), acclSuccess);
  ASSERT_EQ(acclLaunchHostFunc(consumer, increment, &ran), acclSuccess);
  gate.fail();
  EXPECT_EQ(acclStreamSynchronize(consumer), acclErrorLaunchFailure);
  EXPECT_EQ(acclStreamSynchronize(producer), acclErrorLaunchFailure);
  EXPECT_EQ(ran, 0);
}

TEST(HostEvent, LongChainsOfWaitsEnd) {
  constexpr size_t kStreams = 100;
  std::array<OwnStream, kStreams> streams;
  std::array<OwnEvent, kStreams> events;
  Gate gate;
  std::atomic<int> ran{0};
  ASSERT_EQ(acclStreamPoll(streams[0], Gate::poll, &gate), acclSuccess);
  for (size_t i = 0; i < kStreams; ++i) {
    if (i > 0) {
      ASSERT_EQ(acclStreamWaitEvent(streams[i], events[i - 1]), acclSuccess);
    }
    ASSERT_EQ(acclLaunchHostFunc(streams[i], increment, &ran), acclSuccess);
    ASSERT_EQ(acclEventRecord(events[i], streams[i]), acclSuccess);
  }
  gate.open();
  EXPECT_EQ(acclStreamSynchronize(streams[kStreams - 1]), acclSuccess);
  EXPECT_EQ(ran, static_cast<int>(kStreams));
}

}  // namespace
}  // namespace accl::host
