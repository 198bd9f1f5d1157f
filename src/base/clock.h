// Time: the only place that asks the system for it.
//
// Code that decides by time (deadlines, back-off) takes a Clock&, so that the simulator can supply
// its own; code that only measures or spins calls now_ns(). Any thread.
#pragma once

#include <time.h>

#include <cstdint>

namespace accl {

inline constexpr uint64_t kNsPerUs = 1'000;
inline constexpr uint64_t kNsPerMs = 1'000'000;
inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

/// Monotonic time in nanoseconds since some point in the past; a vDSO call, no system call.
inline uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

/// A source of monotonic time.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds; never goes back.
  virtual uint64_t now_ns() const = 0;
};

/// The system's monotonic clock.
class SteadyClock final : public Clock {
 public:
  uint64_t now_ns() const override { return accl::now_ns(); }
};

/// A clock that stands still until told: for tests and simulation. One thread.
class ManualClock final : public Clock {
 public:
  uint64_t now_ns() const override { return now_ns_; }
  void advance_ns(uint64_t delta_ns) { now_ns_ += delta_ns; }

 private:
  uint64_t now_ns_ = 1;
};

}  // namespace accl
