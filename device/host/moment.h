// The moment that an event's record stands for.
//
// Shared (by count) between the event, the record in the stream's queue and the waits on it in
// other queues, so that none of them is disturbed when another goes: an event may be recorded again
// or destroyed while others still wait for its last record. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace accl::host {

class Stream;

enum class MomentState : uint8_t { kPending, kReached, kFailed };

struct Moment {
  std::atomic<MomentState> state{MomentState::kPending};
  std::atomic<uint32_t> references{0};
  uint64_t reached_ns = 0;   ///< written before `state` becomes kReached
  Stream* stream = nullptr;  ///< where the record is queued; fixed while pending
  uint64_t ticket = 0;       ///< number of the record in that stream; fixed while pending
  Moment* next = nullptr;    ///< the pool's
};

}  // namespace accl::host
