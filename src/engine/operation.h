// One call in flight: a plan bound to pointers, count, type and operator.
//
// Operations come from their communicator's pool. While queued or running they belong to whoever has
// borrowed the communicator; `state` is what others may read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/reduce.h"
#include "src/base/type.h"
#include "src/control/signature.h"
#include "src/engine/plan.h"

namespace accl {

/// The arithmetic of a call: a kernel with what comes before and after it.
struct Arithmetic {
  Kernel kernel = nullptr;  ///< reduction or copy; counts are elements of `element_bytes`
  size_t element_bytes = 1;
  bool scale = false;  ///< pre-operation: multiply values loaded from the user's input
  double scale_by = 1.0;
  int64_t scale_by_int = 1;
  uint32_t divide_by = 0;  ///< post-operation: average of integers
};

/// One message list entry of a point-to-point lane: where chunk i of the lane's buffer lies.
struct Extent {
  std::byte* data = nullptr;
  size_t bytes = 0;
  uint32_t signature = 0;
};

/// How far one lane has come: "lane 3, step 17, round 2" is the exact answer to "why does it hang?".
struct LaneState {
  uint32_t step = 0;
  uint32_t round = 0;
  size_t done_bytes = 0;  ///< of a point-to-point step that takes several messages
  bool stored = false;    ///< the step's value is computed, only its message by reference is missing
};

/// A message sent by reference whose memory the peer may still read.
struct Lent {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  SendEnd* end = nullptr;
  uint64_t number = 0;  ///< of the push, on its stream
};

enum class OperationState : uint8_t { kFree, kQueued, kDone };

struct Operation {
  CallSignature call;
  uint32_t signature = 0;  ///< hash of `call`; travels in every message
  Plan* plan = nullptr;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  Arithmetic math;
  size_t round_count = 0;  ///< elements of the vector (or of each block) that one round covers
  uint32_t rounds = 0;
  bool nontemporal = false;

  std::vector<LaneState> lanes;
  size_t unfinished = 0;
  std::vector<size_t> scratch_count;  ///< elements in each scratch chunk, [channel][chunk]
  std::vector<Lent> lent;
  std::vector<Extent> extents;  ///< point-to-point only; chunk numbers index it
  Plan p2p;                     ///< point-to-point only: the program of this group

  std::atomic<bool> ready{false};  ///< its stream has come to it: it may run
  std::atomic<OperationState> state{OperationState::kFree};
  Operation* next = nullptr;  ///< queue or free list of the communicator

  bool done() const { return state.load(std::memory_order_acquire) == OperationState::kDone; }
  bool is_p2p() const { return call.collective == Collective::kPointToPoint; }
};

}  // namespace accl
