// Hash-consed ordered expressions over the contributions of all ranks: equal expressions have equal
// numbers, so that "all ranks computed the same, operand order included" is a comparison of
// numbers.
//
// Part of the checker (src/plan/verify.h). One thread per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/type.h"

namespace accl::verify_detail {

/// What an expression holds that no right result does; ORed from its parts.
enum Flag : uint16_t {
  kForeign = 1,         ///< a sum of different chunks
  kTwice = 2,           ///< a contribution twice
  kGarbage = 4,         ///< memory that nobody wrote
  kRaw = 8,             ///< a contribution without the pre-operation, in a sum
  kPreOnDone = 16,      ///< the pre-operation on a contribution that had it, or on a whole result
  kPreOnPartial = 32,   ///< the pre-operation on a partial sum
  kFinalInSum = 64,     ///< the post-operation on an operand of a sum
  kFinalOnFinal = 128,  ///< the post-operation on a finished value
};
inline constexpr int kFlags = 8;

class Expressions {
 public:
  using Id = int32_t;
  static constexpr Id kUnwritten = 0;

  explicit Expressions(int ranks);

  /// The input of `rank`. `topic` tells the chunks (and rounds) that must not meet in one sum.
  Id leaf(Rank rank, int topic);
  Id add(Id left, Id right);
  Id pre(Id value);
  Id finish(Id value);

  uint16_t flags(Id id) const { return node(id).flags; }
  bool is_leaf(Id id) const { return node(id).op == Op::kLeaf; }
  bool finished(Id id) const { return node(id).finished; }
  int topic(Id id) const { return node(id).topic; }
  bool has(Id id, Rank rank) const;
  /// How many ranks contribute.
  int contributions(Id id) const;
  /// True for ((0 + 1) + 2) + ..., whatever pre- and post-operations are in it.
  bool in_rank_order(Id id) const;

 private:
  enum class Op : uint8_t { kUnwritten, kLeaf, kAdd, kPre, kFinish };
  struct Node {
    Op op = Op::kUnwritten;
    bool finished = false;  // the post-operation was applied to the whole of it
    uint16_t flags = 0;
    Id left = -1;  // of a leaf: the rank
    Id right = -1;
    int topic = -1;
  };

  const Node& node(Id id) const { return nodes_[static_cast<size_t>(id)]; }
  std::span<uint64_t> bits(Id id) {
    return {bits_.data() + static_cast<size_t>(id) * words_, words_};
  }
  std::span<const uint64_t> bits(Id id) const {
    return {bits_.data() + static_cast<size_t>(id) * words_, words_};
  }
  // The number of the expression; `fresh` if it is new and its node has yet to be completed.
  Id intern(Op op, Id left, Id right, bool& fresh);
  void grow();
  Id skip_operations(Id id) const;

  int ranks_;
  size_t words_;  // of a contribution set
  std::vector<Node> nodes_;
  std::vector<uint64_t> bits_;
  std::vector<Id> table_;  // open addressing, -1: free
};

}  // namespace accl::verify_detail
