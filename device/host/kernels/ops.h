// What a kernel computes for one vector of elements: the plain combination of two operands, the
// general one (scales and a division), and the general pass over a single operand.
#pragma once

#include "device/host/kernels/convert.h"
#include "device/reduce.h"

namespace accl {
namespace {

/// `Store`: the unsigned type of an element's bits. `Compare`: the type whose order is that of the
/// elements, for floats after `order_key`. `kTop`: the code of the largest number; above: NaN.
template <DataType type>
struct Element;
template <>
struct Element<DataType::kInt8> {
  using Store = uint8_t;
  using Compare = int8_t;
};
template <>
struct Element<DataType::kUint8> {
  using Store = uint8_t;
  using Compare = uint8_t;
};
template <>
struct Element<DataType::kInt32> {
  using Store = uint32_t;
  using Compare = int32_t;
};
template <>
struct Element<DataType::kUint32> {
  using Store = uint32_t;
  using Compare = uint32_t;
};
template <>
struct Element<DataType::kInt64> {
  using Store = uint64_t;
  using Compare = int64_t;
};
template <>
struct Element<DataType::kUint64> {
  using Store = uint64_t;
  using Compare = uint64_t;
};
template <>
struct Element<DataType::kFloat16> {
  using Store = uint16_t;
  using Compare = int16_t;
  using Number = float;
  static constexpr Compare kTop = 0x7c00;
};
template <>
struct Element<DataType::kFloat32> {
  using Store = uint32_t;
  using Compare = int32_t;
  using Number = float;
  static constexpr Compare kTop = 0x7f800000;
};
template <>
struct Element<DataType::kFloat64> {
  using Store = uint64_t;
  using Compare = int64_t;
  using Number = double;
  static constexpr Compare kTop = 0x7ff0000000000000;
};
template <>
struct Element<DataType::kBfloat16> {
  using Store = uint16_t;
  using Compare = int16_t;
  using Number = float;
  static constexpr Compare kTop = 0x7f80;
};
template <>
struct Element<DataType::kFloat8e4m3> {
  using Store = uint8_t;
  using Compare = int8_t;
  using Number = float;
  static constexpr Compare kTop = 0x7e;
};
template <>
struct Element<DataType::kFloat8e5m2> {
  using Store = uint8_t;
  using Compare = int8_t;
  using Number = float;
  static constexpr Compare kTop = 0x7c;
};

template <DataType type>
constexpr bool kIsFloat = type >= DataType::kFloat16;
template <ReduceOp op>
constexpr bool kIsExtreme = op == ReduceOp::kMax || op == ReduceOp::kMin;

/// Lanes of a full vector when elements are combined as they are stored.
template <DataType type>
constexpr int kStoreLanes = kVectorBytes / static_cast<int>(sizeof(typename Element<type>::Store));
/// Lanes of a full vector when elements are combined as numbers: packed fp16 fills floats.
template <DataType type>
constexpr int kNumberLanes =
    kPackedHalf<type, kVectorBytes / 4> ? kVectorBytes / 4 : kStoreLanes<type>;

/// Signed integers in the order of the numbers, -0 below +0; NaN is at the end that never wins.
template <DataType type, ReduceOp op, int kLanes>
[[gnu::always_inline]] inline auto order_key(
    const Vec<typename Element<type>::Compare, kLanes>& code) {
  using C = typename Element<type>::Compare;
  using V = Vec<C, kLanes>;
  constexpr C most = static_cast<C>(static_cast<typename Element<type>::Store>(-1) >> 1);
  constexpr C worst = op == ReduceOp::kMax ? static_cast<C>(-most - 1) : most;
  const V magnitude = code & (V{} + most);
  const V key = code < V{} ? ~magnitude : code;
  return magnitude > (V{} + Element<type>::kTop) ? V{} + worst : key;
}

/// The greater or the lesser operand, its bits unchanged; the left one when neither is.
template <DataType type, ReduceOp op, int kLanes>
[[gnu::always_inline]] inline auto pick(const Vec<typename Element<type>::Store, kLanes>& left,
                                        const Vec<typename Element<type>::Store, kLanes>& right) {
  using V = Vec<typename Element<type>::Compare, kLanes>;
  V l = bits_as<V>(left);
  V r = bits_as<V>(right);
  if constexpr (kIsFloat<type>) {
    l = order_key<type, op, kLanes>(l);
    r = order_key<type, op, kLanes>(r);
  }
  if constexpr (op == ReduceOp::kMax) {
    return l >= r ? left : right;
  } else {
    return l <= r ? left : right;
  }
}

/// left (+) right of numbers: unsigned integers (which wrap), float or double.
template <DataType type, ReduceOp op, class N, int kLanes>
[[gnu::always_inline]] inline Vec<N, kLanes> combine(const Vec<N, kLanes>& left,
                                                     const Vec<N, kLanes>& right) {
  if constexpr (op == ReduceOp::kSum) {
    return left + right;
  } else if constexpr (op == ReduceOp::kProd) {
    return left * right;
  } else if constexpr (!kIsFloat<type>) {
    return pick<type, op, kLanes>(left, right);
  } else {
    constexpr DataType wide = sizeof(N) == 8 ? DataType::kFloat64 : DataType::kFloat32;
    using V = Vec<typename Element<wide>::Store, kLanes>;
    return bits_as<Vec<N, kLanes>>(pick<wide, op, kLanes>(bits_as<V>(left), bits_as<V>(right)));
  }
}

/// value = left (+) right.
template <DataType type, ReduceOp op>
struct PlainMath {
  template <class N, int kLanes>
  [[gnu::always_inline]] inline Vec<N, kLanes> apply(const Vec<N, kLanes>& left,
                                                     const Vec<N, kLanes>& right) const {
    return combine<type, op, N, kLanes>(left, right);
  }
};

/// The truncated quotient of each lane, as the C types of the elements would divide.
template <DataType type, int kLanes>
[[gnu::always_inline]] inline auto divide(Vec<typename Element<type>::Store, kLanes> value,
                                          uint32_t by) {
  using S = typename Element<type>::Store;
  using C = typename Element<type>::Compare;
#pragma GCC unroll 1
  for (int i = 0; i < kLanes; ++i) {
    const auto number = static_cast<C>(value[i]);
    if constexpr (static_cast<C>(-1) < 0) {
      value[i] = static_cast<S>(static_cast<int64_t>(number) / static_cast<int64_t>(by));
    } else {
      value[i] = static_cast<S>(static_cast<uint64_t>(number) / by);
    }
  }
  return value;
}

/// Small floats as they are after having been stored and loaded once.
template <DataType type, int kLanes>
[[gnu::always_inline]] inline Vec<float, kLanes> rounded(const Vec<float, kLanes>& exact) {
  const auto value = canonical<kLanes>(exact);
  if constexpr (type == DataType::kBfloat16) {
    return bits_as<Vec<float, kLanes>>(round_bfloat16<kLanes>(value) & 0xffff0000);
  } else if constexpr (kPackedHalf<type, kLanes>) {
    return widen_half<kLanes>(narrow_half<kLanes>(value));
  } else {
    return widen_bits<type, kLanes>(narrow_bits<type, kLanes>(value));
  }
}

/// value = (scale * left (+) scale * right) / divisor, each of them optional. Not contracted to a
/// fused multiply-add (-ffp-contract=off): every instruction set rounds the product. A scaled
/// operand is rounded to its type, as if a peer had sent it: so all ranks of an exchange come to
/// the same bits.
template <DataType type, ReduceOp op, bool kBinary>
struct GeneralMath {
  using Number = decltype([] {
    if constexpr (kIsFloat<type>) {
      return typename Element<type>::Number{};
    } else {
      return typename Element<type>::Store{};
    }
  }());
  Number left_factor;
  Number right_factor;
  uint32_t divide_by;
  bool scale_left;
  bool scale_right;

  [[gnu::always_inline]] explicit GeneralMath(const Pass& pass)
      : divide_by(pass.divide_by), scale_left(pass.scale_left), scale_right(pass.scale_right) {
    Number scale;
    if constexpr (kIsFloat<type>) {
      scale = static_cast<Number>(pass.scale);
    } else {
      scale = static_cast<Number>(pass.scale_int);
    }
    left_factor = pass.scale_left ? scale : Number{1};
    right_factor = pass.scale_right ? scale : Number{1};
  }

  template <class N, int kLanes>
  [[gnu::always_inline]] inline Vec<N, kLanes> apply(const Vec<N, kLanes>& left,
                                                     const Vec<N, kLanes>& right) const {
    Vec<N, kLanes> value = left * (Vec<N, kLanes>{} + left_factor);
    if constexpr (kBinary) {
      Vec<N, kLanes> other = right * (Vec<N, kLanes>{} + right_factor);
      if constexpr (kIsFloat<type> && sizeof(typename Element<type>::Store) < 4) {
        if (scale_left) value = rounded<type, kLanes>(value);
        if (scale_right) other = rounded<type, kLanes>(other);
      }
      value = combine<type, op, N, kLanes>(value, other);
    }
    if (divide_by <= 1) return value;
    if constexpr (kIsFloat<type>) {
      return value / (Vec<N, kLanes>{} + static_cast<N>(divide_by));
    } else {
      return divide<type, kLanes>(value, divide_by);
    }
  }
};

/// Part `kPart` of each 32-bit lane of codes, as floats.
template <DataType type, int kPart, int kLanes>
[[gnu::always_inline]] inline Vec<float, kLanes> part_of(const Vec<uint32_t, kLanes>& codes) {
  constexpr int bits = 8 * static_cast<int>(sizeof(typename Element<type>::Store));
  if constexpr (type == DataType::kBfloat16) {
    const auto upper = kPart == 0 ? codes << 16 : codes & 0xffff0000;
    return bits_as<Vec<float, kLanes>>(upper);
  } else {
    const Vec<uint32_t, kLanes> code = (codes >> (bits * kPart)) & ((1U << bits) - 1);
    return widen_bits<type, kLanes>(bits_as<Vec<int32_t, kLanes>>(code));
  }
}

/// The rounded code of each float, at the place of part `kPart`, the other bits zero.
template <DataType type, int kPart, int kLanes>
[[gnu::always_inline]] inline Vec<uint32_t, kLanes> to_part(const Vec<float, kLanes>& value) {
  using W = Vec<uint32_t, kLanes>;
  constexpr int bits = 8 * static_cast<int>(sizeof(typename Element<type>::Store));
  if constexpr (type == DataType::kBfloat16) {
    const W rounded = round_bfloat16<kLanes>(canonical<kLanes>(value));
    return kPart == 0 ? rounded >> 16 : rounded & 0xffff0000;
  } else {
    return bits_as<W>(narrow_bits<type, kLanes>(canonical<kLanes>(value))) << (bits * kPart);
  }
}

template <DataType type, int kPart, class Math, int kLanes>
[[gnu::always_inline]] inline Vec<uint32_t, kLanes> on_part(const Math& math,
                                                            const Vec<uint32_t, kLanes>& left,
                                                            const Vec<uint32_t, kLanes>& right) {
  return to_part<type, kPart, kLanes>(math.template apply<float, kLanes>(
      part_of<type, kPart, kLanes>(left), part_of<type, kPart, kLanes>(right)));
}

/// Small floats, each 32-bit lane holding two or four codes that are taken in turn: no code crosses
/// a lane, whatever the width, where packing and unpacking cost more than the arithmetic.
template <DataType type, class Math, int kLanes>
[[gnu::always_inline]] inline Vec<uint32_t, kLanes> on_parts(const Math& math,
                                                             const Vec<uint32_t, kLanes>& left,
                                                             const Vec<uint32_t, kLanes>& right) {
  const auto low = on_part<type, 0, Math, kLanes>(math, left, right) |
                   on_part<type, 1, Math, kLanes>(math, left, right);
  if constexpr (sizeof(typename Element<type>::Store) == 2) {
    return low;
  } else {
    return low | on_part<type, 2, Math, kLanes>(math, left, right) |
           on_part<type, 3, Math, kLanes>(math, left, right);
  }
}

/// Applies `math` to stored elements: widens, computes, makes NaNs canonical, rounds once.
template <DataType type, class Math, int kLanes>
[[gnu::always_inline]] inline auto on_numbers(
    const Math& math, const Vec<typename Element<type>::Store, kLanes>& left,
    const Vec<typename Element<type>::Store, kLanes>& right) {
  using S = typename Element<type>::Store;
  using Out = Vec<S, kLanes>;
  if constexpr (!kIsFloat<type>) {
    return math.template apply<S, kLanes>(left, right);
  } else if constexpr (sizeof(S) >= 4) {
    using N = typename Element<type>::Number;
    using F = Vec<N, kLanes>;
    return bits_as<Out>(
        canonical<kLanes>(math.template apply<N, kLanes>(bits_as<F>(left), bits_as<F>(right))));
  } else if constexpr (kPackedHalf<type, kLanes>) {
    const auto value =
        math.template apply<float, kLanes>(widen_half<kLanes>(left), widen_half<kLanes>(right));
    return narrow_half<kLanes>(canonical<kLanes>(value));
  } else if constexpr (kLanes * sizeof(S) >= 4) {
    constexpr int lanes = kLanes * static_cast<int>(sizeof(S)) / 4;
    using W = Vec<uint32_t, lanes>;
    return bits_as<Out>(on_parts<type, Math, lanes>(math, bits_as<W>(left), bits_as<W>(right)));
  } else {  // the last one to three elements: a lane each
    using W = Vec<uint32_t, kLanes>;
    return __builtin_convertvector(
        (on_part<type, 0, Math, kLanes>(math, __builtin_convertvector(left, W),
                                        __builtin_convertvector(right, W))),
        Out);
  }
}

/// Small floats that are converted by integer arithmetic.
template <DataType type>
constexpr bool kByParts = type == DataType::kFloat8e4m3 || type == DataType::kFloat8e5m2 ||
                          (type == DataType::kFloat16 && !kHalfInstructions);

/// The operations that `drive` (loop.h) runs over memory: `kLanes` of a full vector, `Store`, the
/// value of a vector of any power of two of lanes, whether speed is worth code (`kTuned`), and
/// whether one vector is enough work to hide latencies by itself (`kHeavy`).
template <DataType type, ReduceOp op>
struct PlainReduce {
  using Store = typename Element<type>::Store;
  static constexpr bool kTuned = true;
  static constexpr bool kHeavy = !kIsExtreme<op> && kByParts<type>;
  static constexpr int kLanes = kIsExtreme<op> ? kStoreLanes<type> : kNumberLanes<type>;

  template <int kCount>
  [[gnu::always_inline]] inline Vec<Store, kCount> value(const char* left,
                                                         const char* right) const {
    using V = Vec<Store, kCount>;
    const V l = load<V>(left);
    const V r = load<V>(right);
    if constexpr (kIsExtreme<op>) {
      return pick<type, op, kCount>(l, r);
    } else {
      return on_numbers<type, PlainMath<type, op>, kCount>({}, l, r);
    }
  }
};

template <DataType type, ReduceOp op, bool kBinary>
struct GeneralReduce {
  using Store = typename Element<type>::Store;
  using Math = GeneralMath<type, op, kBinary>;
  static constexpr bool kTuned = kIsFloat<type> && op == ReduceOp::kSum;  // average, pre-multiplied
  static constexpr bool kHeavy = kByParts<type>;
  static constexpr int kLanes = kNumberLanes<type>;
  Math math;

  template <int kCount>
  [[gnu::always_inline]] inline Vec<Store, kCount> value(const char* left,
                                                         const char* right) const {
    using V = Vec<Store, kCount>;
    const V l = load<V>(left);
    const V r = kBinary ? load<V>(right) : l;
    return on_numbers<type, Math, kCount>(math, l, r);
  }
};

struct Copy {
  using Store = uint8_t;
  static constexpr bool kTuned = true;
  static constexpr bool kHeavy = false;
  static constexpr int kLanes = kVectorBytes;

  template <int kCount>
  [[gnu::always_inline]] inline Vec<Store, kCount> value(const char* left, const char*) const {
    return load<Vec<Store, kCount>>(left);
  }
};

}  // namespace
}  // namespace accl
