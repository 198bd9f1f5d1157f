// The worker thread of a device: moves streams on while no one waits for them.
//
// It looks after the streams that have work ("listed"), naps while nothing moves, and sleeps when
// all have been empty for a while, so that a loop of submit and synchronise costs no wake-up each
// time and an idle process costs nothing. Started by the runtime, never stopped: it ends with the
// process. ring() from any thread; the rest is the worker's own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "src/base/status.h"

namespace accl::host {

class Runtime;
class Stream;

class Worker {
 public:
  Worker(Runtime& runtime, int device) : runtime_(runtime), device_(device) {}
  /// Starts the thread. system_error if the system refuses it.
  Status start();

  /// Work was submitted. `fresh`: its stream, if the worker does not know it yet, else null.
  /// `prompt`: the worker shall begin now rather than after its nap (a millisecond at most; a fresh
  /// stream always ends a long sleep).
  void ring(Stream* fresh, bool prompt);

 private:
  enum class Rest : uint8_t { kAwake, kNapping, kSleeping };

  void loop();
  void adopt_incoming();
  /// One visit to every listed stream. True if something moved.
  bool visit_all();
  void rest();

  Runtime& runtime_;
  const int device_;

  std::mutex mutex_;  ///< guards the next three
  std::condition_variable wake_;
  Stream* incoming_ = nullptr;
  bool prompted_ = false;
  std::atomic<Rest> rest_{Rest::kAwake};  ///< written under the mutex

  // The thread's own.
  Stream* listed_ = nullptr;
  uint64_t nap_us_ = 0;
};

}  // namespace accl::host
