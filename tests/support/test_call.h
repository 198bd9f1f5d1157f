// One call of the API with buffers, inputs and an oracle: made, issued and judged apart, so that
// many may be under way. One rank's thread.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/guarded.h"
#include "tests/support/rank_check.h"
#include "tests/support/values.h"

namespace accl {

enum class TestKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kBcast,
  kShift
};
inline constexpr int kTestKinds = 8;

inline bool reduces(TestKind kind) {
  return kind == TestKind::kAllReduce || kind == TestKind::kReduceScatter ||
         kind == TestKind::kReduce;
}

struct CallShape {
  TestKind kind = TestKind::kAllReduce;
  ncclDataType_t type = ncclInt;
  TestOp op = TestOp::kSum;
  size_t count = 1;
  int root = 0;  ///< or how far kShift sends
  bool in_place = false;
  size_t skew = 0;  ///< bytes off an aligned address
  uint64_t seed = 1;

  std::string describe() const {
    constexpr const char* names[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                     "Reduce",    "AlltoAll",  "Bcast",         "shift"};
    return std::string(names[static_cast<size_t>(kind)]) + " type " + std::to_string(type) +
           " op " + std::to_string(static_cast<int>(op)) + " count " + std::to_string(count) +
           " root " + std::to_string(root) + (in_place ? " in place" : "") + " skew " +
           std::to_string(skew);
  }
};

class TestCall {
 public:
  TestCall(const CallShape& shape, int rank, int ranks)
      : shape_(shape),
        rank_(rank),
        ranks_(ranks),
        element_(size_of(type_of(shape.type))),
        in_(blocks_in() * shape.count * element_, shape.skew),
        out_(blocks_out() * shape.count * element_, shape.skew) {
    fill(in());
    if (in_place()) fill(own_place());
  }

  /// Calls the library. Pre-multiplied sums are made and destroyed around the call.
  ncclResult_t issue(ncclComm_t comm, cudaStream_t stream) {
    ncclRedOp_t op = static_cast<ncclRedOp_t>(shape_.op);
    if (reduces(shape_.kind) && is_scaled(shape_.op)) {
      put(type_of(shape_.type), scalar_of(rank_), scalar_);
      const auto where =
          shape_.op == TestOp::kScaledHost ? ncclScalarHostImmediate : ncclScalarDevice;
      const ncclResult_t made = ncclRedOpCreatePreMulSum(&op, scalar_, shape_.type, where, comm);
      if (made != ncclSuccess) return made;
    }
    const ncclResult_t result = call(op, comm, stream);
    if (op < ncclNumOps) return result;
    const ncclResult_t ended = ncclRedOpDestroy(op, comm);
    return result == ncclSuccess ? ended : result;
  }

  /// Once the call is done: compares every element of the result with the oracle.
  void judge(RankCheck& check) const {
    check.that(in_.intact() && out_.intact(), shape_.describe() + " wrote past a buffer");
    for (size_t block = 0; has_result() && block < result_blocks(); block++) {
      for (size_t i = 0; i < shape_.count; i++) {
        if (right(block, i)) continue;
        check.that(false, shape_.describe() + ": block " + std::to_string(block) + " element " +
                              std::to_string(i) + " is wrong");
        return;
      }
    }
  }

  const std::byte* result() const {
    return shape_.kind == TestKind::kReduceScatter && in_place() ? own_place_of_result()
                                                                 : out_.data();
  }
  size_t result_bytes() const { return result_blocks() * shape_.count * element_; }

 private:
  bool blockwise_in() const {
    return shape_.kind == TestKind::kReduceScatter || shape_.kind == TestKind::kAllToAll;
  }
  bool blockwise_out() const {
    return shape_.kind == TestKind::kAllGather || shape_.kind == TestKind::kAllToAll;
  }
  bool in_place() const {
    if (shape_.kind == TestKind::kBcast) return true;
    return shape_.in_place && shape_.kind != TestKind::kAllToAll && shape_.kind != TestKind::kShift;
  }
  size_t blocks_in() const { return blockwise_in() ? static_cast<size_t>(ranks_) : 1; }
  size_t blocks_out() const {
    const bool holds_input = in_place() && shape_.kind == TestKind::kReduceScatter;
    return blockwise_out() || holds_input ? static_cast<size_t>(ranks_) : 1;
  }
  size_t result_blocks() const { return blockwise_out() ? static_cast<size_t>(ranks_) : 1; }
  bool has_result() const { return shape_.kind != TestKind::kReduce || rank_ == shape_.root; }

  size_t own_offset() const { return static_cast<size_t>(rank_) * shape_.count * element_; }
  const std::byte* own_place_of_result() const { return out_.data() + own_offset(); }
  // Where the input lies when it shares the result's buffer.
  std::byte* own_place() {
    return shape_.kind == TestKind::kAllGather ? out_.data() + own_offset() : out_.data();
  }
  std::byte* in() { return in_.data(); }

  int value(int rank, size_t block, size_t i) const {
    return small_value(shape_.op, shape_.seed, rank, block * shape_.count + i);
  }
  void fill(std::byte* at) const {
    for (size_t block = 0; block < blocks_in(); block++) {
      for (size_t i = 0; i < shape_.count; i++, at += element_) {
        put(type_of(shape_.type), value(rank_, block, i), at);
      }
    }
  }

  ncclResult_t call(ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    const size_t count = shape_.count;
    const ncclDataType_t type = shape_.type;
    const void* in = in_place() ? own_place() : in_.data();
    void* out = out_.data();
    switch (shape_.kind) {
      case TestKind::kAllReduce:
        return ncclAllReduce(in, out, count, type, op, comm, stream);
      case TestKind::kAllGather:
        return ncclAllGather(in, out, count, type, comm, stream);
      case TestKind::kReduceScatter:
        return ncclReduceScatter(in, in_place() ? out_.data() + own_offset() : out, count, type, op,
                                 comm, stream);
      case TestKind::kBroadcast:
        return ncclBroadcast(in, out, count, type, shape_.root, comm, stream);
      case TestKind::kReduce:
        return ncclReduce(in, out, count, type, op, shape_.root, comm, stream);
      case TestKind::kAllToAll:
        return ncclAlltoAll(in, out, count, type, comm, stream);
      case TestKind::kBcast:
        return ncclBcast(out, count, type, shape_.root, comm, stream);
      case TestKind::kShift:
        break;
    }
    return shift(comm, stream);
  }

  ncclResult_t shift(ncclComm_t comm, cudaStream_t stream) {
    ncclGroupStart();
    ncclSend(in_.data(), shape_.count, shape_.type, (rank_ + shape_.root) % ranks_, comm, stream);
    ncclRecv(out_.data(), shape_.count, shape_.type, left(), comm, stream);
    return ncclGroupEnd();
  }
  int left() const { return (rank_ + ranks_ - shape_.root % ranks_) % ranks_; }

  // Element i of block `block` of the result against what it must be.
  bool right(size_t block, size_t i) const {
    const std::byte* got = result() + (block * shape_.count + i) * element_;
    int from = shape_.root;
    size_t from_block = 0;
    switch (shape_.kind) {
      case TestKind::kAllReduce:
      case TestKind::kReduce:
        return reduced(0, i, got);
      case TestKind::kReduceScatter:
        return reduced(static_cast<size_t>(rank_), i, got);
      case TestKind::kAllGather:
        from = static_cast<int>(block);
        break;
      case TestKind::kAllToAll:
        from = static_cast<int>(block);
        from_block = static_cast<size_t>(rank_);
        break;
      case TestKind::kShift:
        from = left();
        break;
      default:
        break;
    }
    std::byte wanted[8] = {};
    put(type_of(shape_.type), value(from, from_block, i), wanted);
    return std::memcmp(wanted, got, element_) == 0;
  }
  bool reduced(size_t block, size_t i, const std::byte* got) const {
    std::array<int, kMaxTestRanks> values{};
    for (int r = 0; r < ranks_; r++) values[static_cast<size_t>(r)] = value(r, block, i);
    return is_reduced(type_of(shape_.type), shape_.op,
                      std::span(values).first(static_cast<size_t>(ranks_)), got);
  }

  CallShape shape_;
  int rank_;
  int ranks_;
  size_t element_;
  Guarded in_;
  Guarded out_;
  std::byte scalar_[8] = {};
};

}  // namespace accl
