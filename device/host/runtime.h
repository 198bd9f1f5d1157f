// The streams, events, pools and workers of the process.
//
// Made by the first stream or event, never destroyed: threads may use it until the process is gone.
// A forked child has no workers and cannot trust any lock, so it forgets its parent's runtime
// (whose handles thereby become invalid) and makes its own when it needs one. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "device/host/event.h"
#include "device/host/handle_table.h"
#include "device/host/moment.h"
#include "device/host/pool.h"
#include "device/host/settings.h"
#include "device/host/stream.h"
#include "device/host/worker.h"

namespace accl::host {

inline constexpr uint64_t kStreamKind = 0x0acc;
inline constexpr uint64_t kEventKind = 0x0ace;
inline constexpr size_t kMaxStreams = 1u << 16;
inline constexpr size_t kMaxEvents = 1u << 19;

class Runtime {
 public:
  /// The runtime, or null if nothing has needed one yet.
  static Runtime* current() { return current_.load(std::memory_order_acquire); }
  /// The runtime, made if need be; null when the system refuses memory.
  static Runtime* ensure();

  /// The worker of a device, started if need be; null when the system refuses a thread (the reason
  /// is this thread's last error text).
  Worker* worker(int device) {
    Worker* const started = workers_[static_cast<size_t>(device)].load(std::memory_order_acquire);
    return started != nullptr ? started : start_worker(device);
  }

  /// A moment with one reference, the caller's, in the state given; null when memory is refused.
  Moment* new_moment(MomentState state);
  static void hold(Moment* moment) { moment->references.fetch_add(1, std::memory_order_relaxed); }
  void release(Moment* moment) {
    if (moment->references.fetch_sub(1, std::memory_order_acq_rel) == 1) moments.put(moment);
  }

  HandleTable<Stream, kStreamKind, kMaxStreams> streams;
  HandleTable<Event, kEventKind, kMaxEvents> events;
  Pool<Node> nodes;
  Pool<Moment> moments;

 private:
  explicit Runtime(uint32_t epoch) : streams(epoch), events(epoch) {}
  Worker* start_worker(int device);
  static void forget_in_child();

  static std::atomic<Runtime*> current_;
  static Runtime* forgotten_;  ///< of our ancestors: kept reachable, for leak checkers
  static uint32_t epoch_;      ///< forks between the first process and this one

  std::mutex starting_;  ///< held while a worker is started
  std::array<std::atomic<Worker*>, kMaxDevices> workers_{};
  Runtime* older_ = nullptr;
};

}  // namespace accl::host
