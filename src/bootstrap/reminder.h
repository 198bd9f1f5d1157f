// Whoever waits for long says so from time to time.
//
// Owned by what waits; the reactor's thread only.
#pragma once

#include <cstdint>
#include <functional>

#include "src/base/reactor.h"

namespace accl {

/// Calls `remind(waited_ms)` after 10 s and every minute from then on, until it is destroyed.
class Reminder {
 public:
  using Remind = std::function<void(uint64_t waited_ms)>;
  struct Times {
    uint64_t first_ms = 10'000;
    uint64_t later_ms = 60'000;
  };

  Reminder(Reactor& reactor, Remind remind) : Reminder(reactor, std::move(remind), Times{}) {}
  Reminder(Reactor& reactor, Remind remind, Times times);
  ~Reminder() { reactor_.cancel(timer_); }
  Reminder(const Reminder&) = delete;
  Reminder& operator=(const Reminder&) = delete;

 private:
  void arm(uint64_t delay_ms);

  Reactor& reactor_;
  const Remind remind_;  ///< must not destroy the object
  const Times times_;
  const uint64_t since_ns_;
  Reactor::TimerId timer_ = 0;
};

}  // namespace accl
