// Walks an operation (ops.h) over memory and builds the table of kernels of one instruction set.
//
// Short passes come first: the 8-byte AllReduce pays for every branch before its two loads. The
// rest of a vector is done by halving vectors, so there is no scalar code that could round
// differently. Streamed stores need an aligned output: a short head of plain stores aligns it.
#pragma once

#include "device/host/kernels/float_mode.h"
#include "device/host/kernels/ops.h"
#include "device/host/kernels/table.h"

namespace accl {
namespace {

constexpr size_t kLine = 64;
/// Below this many bytes the fence costs more than the caches gain.
constexpr size_t kStreamMinimum = 4096;

/// The pass in bytes. `out` is never null; `ring` may be.
struct Span {
  const char* left;
  const char* right;
  char* out;
  char* ring;
};

template <int kCount, class Op>
[[gnu::always_inline]] inline void block(const Op& op, const Span& span, size_t at) {
  const auto value = op.template value<kCount>(span.left + at, span.right + at);
  store(span.out + at, value);
  if (span.ring != nullptr) store(span.ring + at, value);
}

/// Fewer bytes than a vector of 2 * kCount elements.
template <int kCount, class Op>
[[gnu::always_inline]] inline void rest(const Op& op, const Span& span, size_t at, size_t end) {
  if constexpr (kCount >= 1) {
    constexpr size_t bytes = kCount * sizeof(typename Op::Store);
    if (end - at >= bytes) {
      block<kCount>(op, span, at);
      at += bytes;
    }
    rest<kCount / 2>(op, span, at, end);
  }
}

/// One vector at a time, for operations whose code is long.
template <bool kStream, class Op>
[[gnu::always_inline]] inline size_t vectors(const Op& op, const Span& span, size_t at,
                                             size_t end) {
  constexpr size_t bytes = Op::kLanes * sizeof(typename Op::Store);
  for (; end - at >= bytes; at += bytes) {
    const auto value = op.template value<Op::kLanes>(span.left + at, span.right + at);
    if constexpr (kStream) {
      stream(span.out + at, value);
    } else {
      store(span.out + at, value);
    }
    if (span.ring != nullptr) store(span.ring + at, value);
  }
  return at;
}

/// Four vectors at a time: all are loaded before any is stored, which hides the latency of the
/// conversions, and the two outputs get whole runs of lines.
template <bool kStream, class Op>
[[gnu::always_inline]] inline size_t groups(const Op& op, const Span& span, size_t at, size_t end) {
  constexpr int lanes = Op::kLanes;
  constexpr size_t bytes = lanes * sizeof(typename Op::Store);
  for (; end - at >= 4 * bytes; at += 4 * bytes) {
    const char* const left = span.left + at;
    const char* const right = span.right + at;
    const auto a = op.template value<lanes>(left, right);
    const auto b = op.template value<lanes>(left + bytes, right + bytes);
    const auto c = op.template value<lanes>(left + 2 * bytes, right + 2 * bytes);
    const auto d = op.template value<lanes>(left + 3 * bytes, right + 3 * bytes);
    char* const out = span.out + at;
    if constexpr (kStream) {
      stream(out, a);
      stream(out + bytes, b);
      stream(out + 2 * bytes, c);
      stream(out + 3 * bytes, d);
    } else {
      store(out, a);
      store(out + bytes, b);
      store(out + 2 * bytes, c);
      store(out + 3 * bytes, d);
    }
    if (span.ring == nullptr) continue;
    char* const ring = span.ring + at;
    store(ring, a);
    store(ring + bytes, b);
    store(ring + 2 * bytes, c);
    store(ring + 3 * bytes, d);
  }
  return at;
}

template <class Op>
[[gnu::always_inline]] inline void singles(const Op& op, const Span& span, size_t at, size_t end) {
  rest<Op::kLanes / 2>(op, span, vectors<false>(op, span, at, end), end);
}

template <class Op>
[[gnu::noinline]] void drive_streamed(const Op& op, const Span& span, size_t end) {
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(span.out) % kLine) % kLine;
  singles(op, span, 0, head);
  if constexpr (Op::kHeavy) {
    rest<Op::kLanes / 2>(op, span, vectors<true>(op, span, head, end), end);
  } else {
    singles(op, span, groups<true>(op, span, head, end), end);
  }
  stream_fence();
}

template <class Op>
[[gnu::noinline]] void drive_long(const Op& op, const Span& span, size_t end) {
  if constexpr (Op::kHeavy) {
    singles(op, span, 0, end);
  } else {
    singles(op, span, groups<false>(op, span, 0, end), end);
  }
}

/// Runs `op` over the whole pass.
template <class Op>
[[gnu::always_inline]] inline void drive(const Op& op, const Pass& pass) {
  constexpr size_t size = sizeof(typename Op::Store);
  const size_t end = pass.count * size;
  Span span = {static_cast<const char*>(pass.left), static_cast<const char*>(pass.right),
               static_cast<char*>(pass.out), static_cast<char*>(pass.ring)};
  bool streamed = kCanStream && Op::kTuned && pass.nontemporal;
  if (span.out == nullptr) {
    if (span.ring == nullptr) return;
    span.out = span.ring;
    span.ring = nullptr;
    streamed = false;
  }
  if constexpr (!Op::kTuned) {
    singles(op, span, 0, end);
    return;
  }
  if (end < Op::kLanes * size) {
    rest<Op::kLanes / 2>(op, span, 0, end);
  } else if (!streamed || end < kStreamMinimum ||
             reinterpret_cast<uintptr_t>(span.out) % size != 0) {
    drive_long(op, span, end);
  } else {
    drive_streamed(op, span, end);
  }
}

/// Moves pass.count bytes.
void copy(const Pass& pass) {
  if (!pass.nontemporal && (pass.out == nullptr || pass.ring == nullptr)) {
    void* const to = pass.out != nullptr ? pass.out : pass.ring;
    if (to != nullptr && to != pass.left && pass.count > 0) std::memcpy(to, pass.left, pass.count);
    return;
  }
  drive(Copy{}, pass);
}

/// Scales and divisions: not on the shortest path, hence out of line.
template <DataType type, ReduceOp op>
[[gnu::noinline]] void reduce_general(const Pass& pass) {
  if (pass.right != nullptr) {
    drive(GeneralReduce<type, op, true>{GeneralMath<type, op, true>(pass)}, pass);
    return;
  }
  // Without a second operand the operator does not matter: one instance for all.
  drive(GeneralReduce<type, ReduceOp::kSum, false>{GeneralMath<type, ReduceOp::kSum, false>(pass)},
        pass);
}

template <DataType type>
[[gnu::noinline]] void move(const Pass& pass) {
  Pass bytes = pass;
  bytes.count *= sizeof(typename Element<type>::Store);
  copy(bytes);
}

template <DataType type, ReduceOp op>
void reduce(const Pass& pass) {
  if constexpr (kIsFloat<type>) {
    if (!float_mode_is_default()) [[unlikely]] {
      run_in_default_float_mode(reduce<type, op>, pass);
      return;
    }
  }
  const bool general = pass.scale_left || pass.scale_right || pass.divide_by > 1;
  if (!general && pass.right != nullptr) [[likely]] {
    // Sums and products that wrap are the same for signed and unsigned integers: share the code.
    constexpr bool wraps = !kIsFloat<type> && !kIsExtreme<op>;
    constexpr int odd = wraps ? 1 : 0;
    drive(PlainReduce<static_cast<DataType>(static_cast<int>(type) | odd), op>{}, pass);
  } else if (general) {
    reduce_general<type, op>(pass);
  } else {
    move<type>(pass);
  }
}

template <DataType type>
constexpr void fill_row(KernelTable& table) {
  Kernel(&row)[kReduceOps] = table.reduce[static_cast<int>(type)];
  row[static_cast<int>(ReduceOp::kSum)] = reduce<type, ReduceOp::kSum>;
  row[static_cast<int>(ReduceOp::kProd)] = reduce<type, ReduceOp::kProd>;
  row[static_cast<int>(ReduceOp::kMax)] = reduce<type, ReduceOp::kMax>;
  row[static_cast<int>(ReduceOp::kMin)] = reduce<type, ReduceOp::kMin>;
}

/// Evaluated at compile time: the table is constant data.
constexpr KernelTable make_table() {
  KernelTable table{};
  fill_row<DataType::kInt8>(table);
  fill_row<DataType::kUint8>(table);
  fill_row<DataType::kInt32>(table);
  fill_row<DataType::kUint32>(table);
  fill_row<DataType::kInt64>(table);
  fill_row<DataType::kUint64>(table);
  fill_row<DataType::kFloat16>(table);
  fill_row<DataType::kFloat32>(table);
  fill_row<DataType::kFloat64>(table);
  fill_row<DataType::kBfloat16>(table);
  fill_row<DataType::kFloat8e4m3>(table);
  fill_row<DataType::kFloat8e5m2>(table);
  table.copy = copy;
  return table;
}

}  // namespace
}  // namespace accl
