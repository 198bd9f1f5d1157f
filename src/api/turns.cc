#include "src/api/turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "accl/device.h"
#include "src/base/clock.h"

namespace accl {
namespace {

// Every turn that stands in a stream. A failed stream polls nobody any more, so whoever fails it
// must find those behind.
struct Entered {
  std::mutex mutex;
  std::vector<Turn*> turns;

  void add(Turn* turn) {
    const std::lock_guard lock(mutex);
    turns.push_back(turn);
  }
  bool remove(Turn* turn) {
    const std::lock_guard lock(mutex);
    const auto found = std::find(turns.begin(), turns.end(), turn);
    if (found == turns.end()) return false;
    *found = turns.back();
    turns.pop_back();
    return true;
  }
  Turn* take_one_of(cudaStream_t stream) {
    const std::lock_guard lock(mutex);
    const auto found = std::find_if(turns.begin(), turns.end(),
                                    [&](const Turn* t) { return t->stream == stream; });
    if (found == turns.end()) return nullptr;
    Turn* turn = *found;
    *found = turns.back();
    turns.pop_back();
    return turn;
  }
};

Entered& entered() {
  static auto* made = new Entered;  // a process may exit while streams still poll
  return *made;
}

void leave(Turn& turn) {
  Communicator& communicator = *turn.communicator;
  let_go(communicator, *turn.operation);
  Communicator::drop(&communicator);
}

// The stream is about to fail: the operations behind will never get their turn.
void fail_those_behind(cudaStream_t stream) {
  while (Turn* behind = entered().take_one_of(stream)) {
    behind->communicator->fail_and_tell(invalid_usage(
        fmt::format("rank {}: an earlier operation on stream {} has failed, so this one cannot run",
                    behind->communicator->rank(), static_cast<const void*>(stream))));
    behind->communicator->fail_queued();
    leave(*behind);
  }
}

// A poll works as long as there is progress, and waits for peers no longer than a spin: whoever
// polls rests in between.
void drive_for_a_while(Communicator& communicator, const Operation& op) {
  constexpr uint64_t kLongestNs = 5 * kNsPerMs;
  communicator.driven_by_callers.fetch_add(1, std::memory_order_relaxed);
  if (!communicator.try_borrow()) return;
  const uint64_t start = now_ns();
  Patience waiting = communicator.patience();
  while (!op.done()) {
    if (communicator.drive() == Drive::kMoved) {
      waiting.moved();
      if (now_ns() - start > kLongestNs) break;
      continue;
    }
    static_cast<void>(waiting.idle());
    if (waiting.has_spun()) break;
  }
  if (!op.done()) communicator.look_around(now_ns());
  communicator.give_back();
}

// A stream asks how an operation stands, and thereby drives it.
acclPoll_t poll_turn(void* argument) {
  Turn& turn = *static_cast<Turn*>(argument);
  Communicator& communicator = *turn.communicator;
  Operation& op = *turn.operation;
  if (!turn.reached) {
    turn.reached = true;
    op.awaited.fetch_sub(1, std::memory_order_release);
    communicator.wake_engine();
  }
  if (!op.done()) drive_for_a_while(communicator, op);
  if (!op.done()) return acclPollPending;
  // Once the communicator has been aborted or destroyed, its streams are the user's again.
  const bool failed = op.failed && !communicator.closed();
  const cudaStream_t stream = turn.stream;
  entered().remove(&turn);
  if (failed) {
    communicator.note_failed_stream(stream);
    fail_those_behind(stream);
  }
  leave(turn);
  return failed ? acclPollFailed : acclPollDone;
}

}  // namespace

void let_go(Communicator& communicator, Operation& op) {
  if (op.holders.fetch_sub(1, std::memory_order_acq_rel) == 1) communicator.release(&op);
}

Status enter_stream(Turn& turn) {
  turn.entered = true;
  turn.communicator->retain();
  turn.operation->holders.fetch_add(1, std::memory_order_relaxed);
  try {
    entered().add(&turn);
  } catch (const std::bad_alloc&) {
    leave(turn);
    return system_error("out of memory");
  }
  const cudaStream_t stream = turn.stream;
  const acclError_t result = acclStreamPoll(stream, poll_turn, &turn);
  if (result == acclSuccess) return {};
  if (entered().remove(&turn)) leave(turn);
  return invalid_usage(
      fmt::format("stream {}: {}", static_cast<const void*>(stream), acclGetErrorString(result)));
}

void forget_turns() {
  Entered& all = entered();
  new (&all.mutex) std::mutex;
  all.turns.clear();
}

}  // namespace accl
