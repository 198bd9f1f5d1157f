// One call in flight: a plan bound to pointers, count, type and operator.
//
// Operations come from their communicator's pool. While queued or running they belong to whoever
// has borrowed the communicator; `state` is what others may read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "accl/nccl.h"
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

/// The signature of a point-to-point message: its buffer's size, so that a text can name both ends'
/// sizes. Sizes from 2 GiB on travel as a hash. Never 0.
constexpr uint32_t point_to_point_signature(size_t bytes) {
  if (bytes < 0x7fffffff) return static_cast<uint32_t>(bytes) + 1;
  return 0x80000000U | static_cast<uint32_t>((bytes ^ (bytes >> 31)) & 0x7fffffff);
}
/// "1000 bytes", or "another size" if the signature does not tell.
std::string describe_point_to_point(uint32_t signature);

/// Where chunk i of a point-to-point operation lies.
struct Extent {
  std::byte* data = nullptr;
  size_t bytes = 0;
  uint32_t signature = 0;
};

/// How far one lane has come: "lane 3, step 17, round 2" is the exact answer to "why does it
/// hang?".
struct LaneState {
  uint32_t step = 0;
  uint32_t round = 0;
  size_t done_bytes = 0;  ///< of a point-to-point step that takes several messages
  bool stored = false;  ///< the step's value is computed, only its message by reference is missing
};

/// A message sent by reference whose memory the peer may still read.
struct Lent {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  SendEnd* end = nullptr;
  uint64_t number = 0;  ///< of the push, on its stream
};

class Communicator;
struct Operation;

/// An operation's place in a stream: what the stream polls.
struct Turn {
  Communicator* communicator = nullptr;
  Operation* operation = nullptr;
  cudaStream_t stream = nullptr;
  bool reached = false;  ///< the stream has come to it
  bool entered = false;  ///< it stands in the stream's queue
};

enum class OperationState : uint8_t { kFree, kQueued, kDone };

/// The most that the operations of a communicator have needed so far. Any of them may be taken for
/// any call, so all get room for the largest: once every shape of call was seen, nothing is
/// allocated.
struct Room {
  size_t lanes = 0;
  size_t scratch = 0;
  size_t lent = 0;
  size_t transfers = 0;  ///< from here on of point-to-point operations
  size_t program_lanes = 0;
  size_t steps = 0;  ///< in one lane
  size_t ports = 0;

  /// Becomes enough for `plan` too.
  void cover(const Plan& plan);
  bool operator==(const Room&) const = default;
};

struct Operation {
  CallSignature call;
  uint32_t signature = 0;  ///< hash of `call`; travels in every message
  Plan* plan = nullptr;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  Arithmetic math;
  const void* scalar_at = nullptr;  ///< where the scale lies, if it is read when the turn comes
  DataType scalar_type = DataType::kFloat32;
  size_t elements = 0;     ///< `call.count` in units of math.element_bytes
  size_t round_count = 0;  ///< elements of the vector (or of each block) that one round covers
  uint32_t rounds = 0;
  bool nontemporal = false;

  std::vector<LaneState> lanes;
  size_t unfinished = 0;
  std::vector<size_t> scratch_count;  ///< elements in each scratch chunk, [channel][chunk]
  std::vector<Lent> lent;
  std::vector<Extent> extents;  ///< point-to-point only; chunk numbers index it
  Plan p2p;                     ///< point-to-point only: the program of this group

  std::vector<Turn> turns;
  std::atomic<int> awaited{0};  ///< streams that have not come to it yet: it runs from 0 on
  std::atomic<int> holders{0};  ///< turns and callers that still look at it
  bool failed = false;          ///< once done: it ended with the communicator's failure
  std::atomic<OperationState> state{OperationState::kFree};
  Operation* next = nullptr;  ///< queue or free list of the communicator

  bool ready() const { return awaited.load(std::memory_order_acquire) == 0; }
  bool done() const { return state.load(std::memory_order_acquire) == OperationState::kDone; }
  bool is_p2p() const { return call.collective == Collective::kPointToPoint; }
};

}  // namespace accl
