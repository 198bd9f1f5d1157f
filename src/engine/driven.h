// What the engine drives: anything with queued work that one thread at a time may advance.
//
// "Borrowing" is one compare-exchange. Whoever holds the loan (a caller that waits, or the engine's
// thread) advances the work; the others look at the result. So state needs no locks, and a thread
// that waits, works.
#pragma once

#include <atomic>
#include <cstdint>

namespace accl {

enum class Drive {
  kIdle,     ///< nothing to run
  kBlocked,  ///< waits for peers
  kMoved,    ///< something was done
};

class Driven {
 public:
  virtual ~Driven() = default;
  /// Advances the work as far as it goes without waiting. Only while borrowed.
  virtual Drive drive() = 0;
  /// True if `drive` would have something to run. Any thread.
  virtual bool has_work() const = 0;
  /// A look at the slow signs of trouble; called while borrowed, every few milliseconds of waiting.
  virtual void look_around(uint64_t now_ns) = 0;

  bool try_borrow() {
    bool free = false;
    return loan_.compare_exchange_strong(free, true, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void give_back() { loan_.store(false, std::memory_order_release); }

  /// Grows whenever a caller's thread drives; lets the engine see that its help is not needed.
  std::atomic<uint32_t> driven_by_callers{0};

 private:
  alignas(64) std::atomic<bool> loan_{false};
};

}  // namespace accl
