// A stream of the host device: a queue of operations and the one place that runs them.
//
// Streams are slots of the runtime's table and live as long as it does. Operations are numbered
// (tickets); numbers are never used twice, not even by the next owner of the slot, so that a thread
// that waits for a number always gets an end. Any thread may submit; whoever waits, and the
// device's worker, runs the operations, one thread at a time (`busy_`).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "accl/device.h"
#include "device/host/moment.h"

namespace accl::host {

class Runtime;
class Worker;

/// One operation of a stream.
struct Operation {
  enum class Kind : uint8_t { kCopy, kSet, kHostFunction, kPoll, kRecord, kWait };
  Kind kind = Kind::kCopy;
  int value = 0;               ///< kSet
  void* to = nullptr;          ///< kCopy, kSet
  const void* from = nullptr;  ///< kCopy
  size_t bytes = 0;            ///< kCopy, kSet
  acclHostFn_t host_function = nullptr;
  acclPollFn_t poll = nullptr;
  void* argument = nullptr;  ///< of host_function and poll
  Moment* moment = nullptr;  ///< kRecord, kWait: one reference, the operation's
};

/// A queued operation.
struct Node {
  Operation operation;
  uint64_t ticket = 0;
  Node* next = nullptr;
};

/// Up to where to run a stream.
struct Goal {
  Stream* stream = nullptr;
  uint64_t ticket = UINT64_MAX;
};

/// True while the calling thread runs an operation of a stream: it must not wait.
bool inside_operation();

class alignas(128) Stream {
 public:
  /// For the table.
  std::atomic<uint64_t> handle{0};
  uint64_t last_handle = 0;
  Stream* next_free = nullptr;

  /// Before the handle is published.
  void open(Runtime* runtime, int device);
  /// The handle ends; pending work goes on. False if it is not the stream's handle (any more).
  /// `unused`: nothing is pending and no worker looks at the slot: the caller gives it back.
  bool close(const void* expected, bool* unused);

  /// Queues an operation. acclErrorInvalidHandle if `expected` is not the stream's handle any more,
  /// acclErrorLaunchFailure if the stream has failed, acclErrorMemoryAllocation, acclErrorSystem.
  /// On success the operation's references are the queue's.
  acclError_t submit(const void* expected, const Operation& operation);

  /// Nothing queued or running, not failed. Then the effects of all the work are visible.
  bool idle() const {
    const uint64_t completed = completed_.load(std::memory_order_acquire);
    return completed == submitted_.load(std::memory_order_acquire);
  }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  int device() const { return device_.load(std::memory_order_relaxed); }
  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  uint64_t completed() const { return completed_.load(std::memory_order_acquire); }

  /// Runs or awaits the operations up to the number `ticket`. acclErrorLaunchFailure if the stream
  /// fails or has failed.
  acclError_t wait(uint64_t ticket);
  /// Forgets a failure.
  void reset();

  /// Runs operations up to the goal, in its stream and in those that it waits for. Never waits:
  /// returns when the front is pending or another thread is at it. `quick`: no copies and no host
  /// functions, which may take long. True if an operation was completed.
  static bool drive(Goal goal, bool quick);

 private:
  friend class Worker;
  enum class Outcome : uint8_t { kDone, kPending, kFailed };

  /// One turn as the only executor. A front that waits for another stream puts it in `blocked_on`.
  bool run(uint64_t until, bool quick, Goal* blocked_on);
  Outcome execute(const Operation& operation, Goal* blocked_on);
  void finish_front();
  void fail_all();
  Node* take_node();
  void give_spares_back();
  /// For the worker, about to forget the stream. False if there is work.
  bool unlist(bool* unused);

  // What idle() and wait() read; one line.
  std::atomic<uint64_t> submitted_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> busy_{false};      ///< a thread runs operations
  std::atomic<uint32_t> failures_{0};  ///< how often the slot's streams have failed
  std::atomic<int> device_{0};
  std::atomic<Runtime*> runtime_{nullptr};  ///< set once per slot

  std::mutex mutex_;  ///< guards what follows, and the writing of the counters
  Node* head_ = nullptr;
  Node* tail_ = nullptr;
  Node* spare_ = nullptr;  ///< nodes of finished operations, for the next ones
  bool listed_ = false;    ///< the worker looks after the stream

  Stream* next_listed_ = nullptr;  ///< the worker's
  uint32_t idle_visits_ = 0;       ///< the worker's
};

}  // namespace accl::host
