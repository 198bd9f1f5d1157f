// The one spin policy: how a thread waits for a peer.
//
// Bare spinning at first (never PAUSE, which costs a guest ten times a hand-over), then giving way
// to other threads, then short naps. When ranks outnumber cores it gives way at every turn.
// A value; one thread.
#pragma once

#include <sched.h>
#include <time.h>

#include <cstdint>

#include "src/base/clock.h"

namespace accl {

class Patience {
 public:
  static constexpr uint64_t kSpinNs = 50 * kNsPerUs;
  static constexpr uint64_t kYieldNs = 20 * kNsPerMs;
  static constexpr uint64_t kNapNs = 50 * kNsPerUs;

  explicit Patience(bool yields_at_once) : yields_at_once_(yields_at_once) {}

  /// Progress was made.
  void moved() {
    idle_turns_ = 0;
    idle_since_ns_ = 0;
    spun_ = false;
  }

  /// One turn without progress. Returns the time now if it is worth a look around (about every
  /// millisecond of waiting), else 0.
  uint64_t idle() {
    idle_turns_++;
    if (!yields_at_once_ && idle_turns_ % 512 != 0) [[likely]]
      return 0;
    if (yields_at_once_) {
      sched_yield();
      if (idle_turns_ % 16 != 0) return 0;
    }
    return slow_turn();
  }

  /// True once waiting has gone on for longer than a spin.
  bool has_spun() const { return spun_; }

  /// How long nothing has moved; 0 while that is short.
  uint64_t idle_ns(uint64_t now) const { return idle_since_ns_ == 0 ? 0 : now - idle_since_ns_; }

 private:
  uint64_t slow_turn() {
    const uint64_t now = now_ns();
    if (idle_since_ns_ == 0) {
      idle_since_ns_ = now;
      looked_ns_ = now;
    }
    const uint64_t waited = now - idle_since_ns_;
    spun_ = waited > kSpinNs;
    if (waited > kYieldNs) {
      const timespec nap{0, static_cast<long>(kNapNs)};
      nanosleep(&nap, nullptr);
    } else if (waited > kSpinNs) {
      sched_yield();
    }
    if (now - looked_ns_ < kNsPerMs) return 0;
    looked_ns_ = now;
    return now;
  }

  bool yields_at_once_;
  bool spun_ = false;
  uint32_t idle_turns_ = 0;
  uint64_t idle_since_ns_ = 0;
  uint64_t looked_ns_ = 0;
};

}  // namespace accl
