#include "src/plan/verify_expression.h"

#include <bit>

namespace accl::verify_detail {
namespace {

uint64_t hash(uint8_t op, int32_t left, int32_t right) {
  uint64_t h =
      (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
  h = (h + op) * 0x9e3779b97f4a7c15U;
  return h ^ (h >> 29);
}

}  // namespace

Expressions::Expressions(int ranks)
    : ranks_(ranks), words_((static_cast<size_t>(ranks) + 63) / 64), table_(1024, -1) {
  nodes_.push_back({.flags = kGarbage});
  bits_.resize(words_);
}

Expressions::Id Expressions::intern(Op op, Id left, Id right, bool& fresh) {
  const size_t mask = table_.size() - 1;
  size_t at = hash(static_cast<uint8_t>(op), left, right) & mask;
  for (; table_[at] >= 0; at = (at + 1) & mask) {
    const Node& n = node(table_[at]);
    if (n.op == op && n.left == left && n.right == right) {
      fresh = false;
      return table_[at];
    }
  }
  fresh = true;
  const Id id = static_cast<Id>(nodes_.size());
  table_[at] = id;
  nodes_.push_back({.op = op, .left = left, .right = right});
  bits_.resize(bits_.size() + words_);
  if (nodes_.size() * 2 > table_.size()) grow();
  return id;
}

void Expressions::grow() {
  table_.assign(table_.size() * 2, -1);
  const size_t mask = table_.size() - 1;
  for (size_t i = 1; i < nodes_.size(); i++) {
    const Node& n = nodes_[i];
    size_t at = hash(static_cast<uint8_t>(n.op), n.left, n.right) & mask;
    while (table_[at] >= 0) at = (at + 1) & mask;
    table_[at] = static_cast<Id>(i);
  }
}

Expressions::Id Expressions::leaf(Rank rank, int topic) {
  bool fresh = false;
  const Id id = intern(Op::kLeaf, rank, topic, fresh);
  if (!fresh) return id;
  nodes_[static_cast<size_t>(id)].topic = topic;
  const auto r = static_cast<size_t>(rank);
  bits(id)[r / 64] |= uint64_t{1} << (r % 64);
  return id;
}

Expressions::Id Expressions::add(Id left, Id right) {
  bool fresh = false;
  const Id id = intern(Op::kAdd, left, right, fresh);
  if (!fresh) return id;
  const Node& a = node(left);
  const Node& b = node(right);
  unsigned flags = a.flags | b.flags;
  if (a.finished || b.finished) flags |= kFinalInSum;
  if (a.op == Op::kLeaf || b.op == Op::kLeaf) flags |= kRaw;
  if (a.topic != b.topic) flags |= kForeign;
  for (size_t w = 0; w < words_; w++) {
    if (bits(left)[w] & bits(right)[w]) flags |= kTwice;
    bits(id)[w] = bits(left)[w] | bits(right)[w];
  }
  Node& n = nodes_[static_cast<size_t>(id)];
  n.topic = a.topic;
  n.flags = static_cast<uint16_t>(flags);
  return id;
}

Expressions::Id Expressions::pre(Id value) {
  bool fresh = false;
  const Id id = intern(Op::kPre, value, -1, fresh);
  if (!fresh) return id;
  const Node& v = node(value);
  unsigned flags = v.flags;
  if (v.op != Op::kLeaf && v.op != Op::kUnwritten) {
    const int from = contributions(value);
    flags |= from == 1 || from == ranks_ || v.finished ? kPreOnDone : kPreOnPartial;
  }
  for (size_t w = 0; w < words_; w++) bits(id)[w] = bits(value)[w];
  Node& n = nodes_[static_cast<size_t>(id)];
  n.topic = v.topic;
  n.finished = v.finished;
  n.flags = static_cast<uint16_t>(flags);
  return id;
}

Expressions::Id Expressions::finish(Id value) {
  bool fresh = false;
  const Id id = intern(Op::kFinish, value, -1, fresh);
  if (!fresh) return id;
  const Node& v = node(value);
  unsigned flags = v.flags;
  if (v.op == Op::kLeaf) flags |= kRaw;
  if (v.finished) flags |= kFinalOnFinal;
  for (size_t w = 0; w < words_; w++) bits(id)[w] = bits(value)[w];
  Node& n = nodes_[static_cast<size_t>(id)];
  n.topic = v.topic;
  n.finished = true;
  n.flags = static_cast<uint16_t>(flags);
  return id;
}

bool Expressions::has(Id id, Rank rank) const {
  const auto r = static_cast<size_t>(rank);
  return (bits(id)[r / 64] >> (r % 64)) & 1;
}

int Expressions::contributions(Id id) const {
  int count = 0;
  for (const uint64_t word : bits(id)) count += std::popcount(word);
  return count;
}

Expressions::Id Expressions::skip_operations(Id id) const {
  while (node(id).op == Op::kPre || node(id).op == Op::kFinish) id = node(id).left;
  return id;
}

bool Expressions::in_rank_order(Id id) const {
  id = skip_operations(id);
  for (Rank last = ranks_ - 1; last > 0; last--) {
    if (node(id).op != Op::kAdd) return false;
    const Node& right = node(skip_operations(node(id).right));
    if (right.op != Op::kLeaf || right.left != last) return false;
    id = skip_operations(node(id).left);
  }
  return node(id).op == Op::kLeaf && node(id).left == 0;
}

}  // namespace accl::verify_detail
