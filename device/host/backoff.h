// How a thread waits for something that no one will signal: spin, then yield, then sleep briefly.
//
// A wake-up costs some 20 us, a spin notices within 33 ns: the usual wait is over while spinning.
// One object per wait, on the waiter's stack.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "src/base/clock.h"

namespace accl::host {

class Backoff {
 public:
  /// Called after a fruitless look. Returns at once for 50 us (never, where there is one core to
  /// run on: the thread waited for needs it), then yields up to 2 ms, then sleeps 20 to 200 us.
  void pause() {
    const uint64_t now = now_ns();
    if (start_ns_ == 0) start_ns_ = now;
    const uint64_t waited_ns = now - start_ns_;
    if (waited_ns < kSpinNs && !single_core()) return;
    if (waited_ns < kYieldNs) {
      sched_yield();
      return;
    }
    const timespec nap{0, static_cast<long>(nap_ns_)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
    nap_ns_ = std::min(nap_ns_ * 2, kLongestNapNs);
  }

  /// Something moved: the wait begins anew.
  void reset() {
    start_ns_ = 0;
    nap_ns_ = kShortestNapNs;
  }

 private:
  static constexpr uint64_t kSpinNs = 50 * kNsPerUs;
  static constexpr uint64_t kYieldNs = 2 * kNsPerMs;
  static constexpr uint64_t kShortestNapNs = 20 * kNsPerUs;
  static constexpr uint64_t kLongestNapNs = 200 * kNsPerUs;

  static bool single_core() {
    static const bool single = [] {
      cpu_set_t cores;
      return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) == 1;
    }();
    return single;
  }

  uint64_t start_ns_ = 0;
  uint64_t nap_ns_ = kShortestNapNs;
};

}  // namespace accl::host
