// The kernel table: every arithmetic or copying pass over memory that a step can need.
//
// One call does one pass: load one or two operands, apply the pre-scale, combine, apply the
// post-division, and write up to two outputs (the caller's buffer and the ring to the next rank),
// so that no byte is touched twice. Kernels set the floating-point mode at entry (round to nearest,
// no flush-to-zero: the caller's thread may have changed MXCSR) and restore it. Operand order is
// kept: value = left (+) right (docs/numerics.md: NaN payloads and signed zeros depend on it).
//
// Pure functions; any thread. The instruction set is chosen once per process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/type.h"

namespace accl {

/// What one pass does. Pointers need no alignment. Outputs may equal an operand exactly, and must
/// not overlap one otherwise.
struct Pass {
  void* out = nullptr;          ///< first output, may be null
  void* ring = nullptr;         ///< second output, may be null
  const void* left = nullptr;   ///< left operand, never null when count > 0
  const void* right = nullptr;  ///< right operand; null: the value is `left` alone
  size_t count = 0;             ///< elements
  bool scale_left = false;      ///< multiply the left operand by `scale` as it is loaded
  bool scale_right = false;
  bool nontemporal = false;  ///< `out` is not read again soon: write it around the caches
  uint32_t divide_by = 0;    ///< > 1: divide the value by this (average of integers); truncates
  double scale = 1.0;        ///< for float types up to 64 bits
  int64_t scale_int = 1;     ///< for integer types (bit pattern for uint64)
};

using Kernel = void (*)(const Pass&);

enum class Isa : uint8_t { kScalar, kAvx2, kAvx512 };
std::string_view name_of(Isa isa);
/// The best instruction set of this machine; `limit` caps it (a test's or setting's choice).
Isa best_isa(Isa limit = Isa::kAvx512);

/// The kernel for a reduction of `type` with `op`. Never null. Copies (right == null) included.
Kernel reduce_kernel(DataType type, ReduceOp op, Isa isa);
/// Moves bytes: `count` is bytes, no arithmetic, both outputs and nontemporal honoured.
Kernel copy_kernel(Isa isa);

}  // namespace accl
