// What the tests of the host device share: owners of handles, an operation that the test controls.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "accl/device.h"

namespace accl::host {

/// The text of this thread's last failed call.
inline std::string last_text() { return acclGetLastErrorText(); }

/// A stream that is destroyed with the test.
class OwnStream {
 public:
  OwnStream() { EXPECT_EQ(acclStreamCreate(&stream_), acclSuccess) << last_text(); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() { EXPECT_EQ(acclStreamDestroy(stream_), acclSuccess) << last_text(); }
  operator acclStream_t() const { return stream_; }  // NOLINT

 private:
  acclStream_t stream_ = nullptr;
};

class OwnEvent {
 public:
  OwnEvent() { EXPECT_EQ(acclEventCreate(&event_), acclSuccess) << last_text(); }
  OwnEvent(const OwnEvent&) = delete;
  OwnEvent& operator=(const OwnEvent&) = delete;
  ~OwnEvent() { EXPECT_EQ(acclEventDestroy(event_), acclSuccess) << last_text(); }
  operator acclEvent_t() const { return event_; }  // NOLINT

 private:
  acclEvent_t event_ = nullptr;
};

/// A polled operation whose answer the test sets.
struct Gate {
  std::atomic<acclPoll_t> answer{acclPollPending};
  std::atomic<int> polls{0};
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};

  static acclPoll_t poll(void* argument) {
    auto& gate = *static_cast<Gate*>(argument);
    if (gate.inside.fetch_add(1) != 0) gate.overlapped = true;
    gate.polls.fetch_add(1);
    const acclPoll_t answer = gate.answer.load();
    gate.inside.fetch_sub(1);
    return answer;
  }
  void open() { answer = acclPollDone; }
  void fail() { answer = acclPollFailed; }
};

/// A host function that counts in a std::atomic<int>.
inline void increment(void* argument) { static_cast<std::atomic<int>*>(argument)->fetch_add(1); }

/// Waits for something that another thread brings about; the test's time-out is the limit.
template <class Condition>
void await(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

}  // namespace accl::host
