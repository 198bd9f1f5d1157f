// How one process wakes another that sleeps: a word that says "I sleep" and an eventfd.
//
// The writer's fast path is one load of a word that stays in its cache: no fence, no system call.
// What would need a fence on every message, "publish, then look whether the reader sleeps" against
// "say that I sleep, then look for messages", is paid by the sleeper alone: membarrier(2) makes all
// running processors do a full barrier between its two halves.
//
// Sleeper: one per process, used by its engine thread. Doorbell: a value, one per stream end.
#pragma once

#include <atomic>
#include <cstdint>

namespace accl {

/// Odd while its owner sleeps; counts the sleeps. Lives in shared memory, written by the owner.
using SleepWord = std::atomic<uint32_t>;

/// The waker's view of a sleeper. A default-made one rings nobody. The word and the eventfd belong
/// to someone who outlives it.
class Doorbell {
 public:
  Doorbell() = default;
  Doorbell(const SleepWord* word, int eventfd) : word_(word), eventfd_(eventfd) {}

  /// To be called after what the sleeper should see has been stored. At most one system call per
  /// sleep of the owner.
  void ring_if_sleeping() {
    if (word_ == nullptr) return;
    // The compiler must not move the load up; the processor's half is the sleeper's membarrier.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const uint32_t sleep = word_->load(std::memory_order_relaxed);
    if ((sleep & 1) != 0 && sleep != rung_) [[unlikely]]
      ring(sleep);
  }

 private:
  void ring(uint32_t sleep);

  const SleepWord* word_ = nullptr;
  int eventfd_ = -1;
  uint32_t rung_ = 0;  ///< the sleep that this doorbell has ended already (even: none)
};

class Sleeper {
 public:
  /// Where peers that hold no usable barrier (membarrier refused) could be missed, nobody sleeps
  /// for longer than this.
  static constexpr int kBlindSleepMs = 1;

  Sleeper(SleepWord* word, int eventfd);

  /// To be watched for reading while asleep.
  int eventfd() const { return eventfd_; }
  /// "I sleep from now on." Afterwards look once more for work, then sleep for at most
  /// `max_sleep_ms`
  /// (-1: as long as you like), then call `awake`, always.
  void prepare();
  /// Takes `prepare` back and empties the eventfd.
  void awake();
  int max_sleep_ms() const { return barrier_ ? -1 : kBlindSleepMs; }

  /// Makes this process one whose threads a sleeper's barrier reaches. Every process that uses a
  /// Doorbell calls it once at start; repeated calls are free of effect. False if refused.
  static bool enable_barrier();

 private:
  SleepWord* word_;
  int eventfd_;
  bool barrier_;
};

}  // namespace accl
