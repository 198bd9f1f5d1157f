// The process's engine: one thread that runs the event loop and drives what nobody else drives.
//
// One per process, not per communicator: frameworks make hundreds of communicators and threads must
// not scale with them. Callers that wait drive their own communicators; the engine takes over work
// that no caller has touched for a while, and otherwise sleeps in the reactor. Owned by the World;
// any thread may call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/doorbell.h"
#include "src/base/reactor.h"
#include "src/base/status.h"
#include "src/base/thread.h"
#include "src/engine/driven.h"

namespace accl {

class Engine {
 public:
  /// Starts the thread. `sleeper` is the process's bell, rung by peers when they have moved.
  static Result<std::unique_ptr<Engine>> start(Sleeper sleeper);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Reactor& reactor() { return *reactor_; }

  /// Looks after `driven` until `remove`, which returns once the engine's thread has let go of it.
  void add(Driven* driven);
  void remove(Driven* driven);
  /// There may be new work: wakes the thread if it sleeps.
  void kick();

 private:
  struct Charge {
    Driven* driven;
    uint32_t seen = 0;      // its driven_by_callers when last looked at
    uint64_t since_ns = 0;  // and when that last changed
    uint64_t looked_ns = 0;
  };
  enum class Round { kNothing, kOthersDrive, kBlocked, kMoved };

  Engine(std::unique_ptr<Reactor> reactor, Sleeper sleeper);
  void run();
  void turn();
  Round round();
  Round drive(Charge& charge, uint64_t now);
  void doze(int timeout_ms);
  void sleep_blocked();

  std::unique_ptr<Reactor> reactor_;
  Sleeper sleeper_;
  std::mutex mutex_;
  std::vector<Charge> charges_;    // guarded by mutex_
  uint64_t blocked_since_ns_ = 0;  // the thread's own
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stop_{false};
  Thread thread_;
};

}  // namespace accl
