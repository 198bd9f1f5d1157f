// An oracle for reductions that shares nothing with the kernels: small numbers whose results are
// exact in every type, computed as integers or doubles, and compared bit for bit; where rounding is
// the type's (a third, a fp8 sum that needs more bits), within a bound. Pure functions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "accl/nccl.h"
#include "src/base/float.h"
#include "src/base/type.h"

namespace accl {

/// The operators of the tests: NCCL's five and the two forms of a pre-multiplied sum.
enum class TestOp { kSum, kProd, kMax, kMin, kAvg, kScaledHost, kScaledDevice };
inline constexpr int kTestOps = 7;

inline DataType type_of(ncclDataType_t type) { return static_cast<DataType>(type); }
inline bool is_scaled(TestOp op) { return op >= TestOp::kScaledHost; }
inline bool is_signed(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt32 || type == DataType::kInt64;
}

/// What rank `rank` multiplies with.
inline int scalar_of(int rank) { return 1 + rank % 2; }

inline uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Element `i` of rank `rank`'s input.
inline int small_value(TestOp op, uint64_t seed, int rank, size_t i) {
  const uint64_t h = mix(seed * 1000003 + static_cast<uint64_t>(rank) * 7919 + mix(i)) >> 16;
  if (op == TestOp::kProd) return h % 4 == 0 ? 2 : (h % 4 == 1 ? -1 : 1);
  if (op == TestOp::kMax || op == TestOp::kMin) return static_cast<int>(h % 17) - 8;
  return static_cast<int>(h % 3) - 1;
}

/// Writes `value` as an element; integers wrap.
inline void put(DataType type, double value, std::byte* at) {
  const auto store = [at](auto code) { std::memcpy(at, &code, sizeof code); };
  const auto whole = static_cast<int64_t>(value);
  const auto single = static_cast<float>(value);
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
      return store(static_cast<uint8_t>(whole));
    case DataType::kInt32:
    case DataType::kUint32:
      return store(static_cast<uint32_t>(whole));
    case DataType::kInt64:
    case DataType::kUint64:
      return store(whole);
    case DataType::kFloat16:
      return store(float_to_half(single));
    case DataType::kFloat32:
      return store(single);
    case DataType::kFloat64:
      return store(value);
    case DataType::kBfloat16:
      return store(float_to_bfloat16(single));
    case DataType::kFloat8e4m3:
      return store(float_to_float8e4m3(single));
    case DataType::kFloat8e5m2:
      return store(float_to_float8e5m2(single));
  }
}

/// A float element's value.
inline double get(DataType type, const std::byte* at) {
  uint8_t byte = 0;
  uint16_t half = 0;
  float single = 0;
  double value = 0;
  std::memcpy(&byte, at, 1);
  if (size_of(type) >= 2) std::memcpy(&half, at, 2);
  if (size_of(type) >= 4) std::memcpy(&single, at, 4);
  if (size_of(type) >= 8) std::memcpy(&value, at, 8);
  switch (type) {
    case DataType::kFloat16:
      return static_cast<double>(half_to_float(half));
    case DataType::kFloat32:
      return static_cast<double>(single);
    case DataType::kFloat64:
      return value;
    case DataType::kBfloat16:
      return static_cast<double>(bfloat16_to_float(half));
    case DataType::kFloat8e4m3:
      return static_cast<double>(float8e4m3_to_float(byte));
    default:
      return static_cast<double>(float8e5m2_to_float(byte));
  }
}

/// Twice the largest relative error of one rounding.
inline double epsilon(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return 0x1p-10;
    case DataType::kFloat32:
      return 0x1p-23;
    case DataType::kFloat64:
      return 0x1p-52;
    case DataType::kBfloat16:
      return 0x1p-7;
    case DataType::kFloat8e4m3:
      return 0x1p-3;
    case DataType::kFloat8e5m2:
      return 0x1p-2;
    default:
      return 0;
  }
}

namespace detail {

inline int64_t wrapped(DataType type, int64_t value) {
  switch (type) {
    case DataType::kInt8:
      return static_cast<int8_t>(value);
    case DataType::kUint8:
      return static_cast<uint8_t>(value);
    case DataType::kInt32:
      return static_cast<int32_t>(value);
    case DataType::kUint32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

inline int64_t reduced_whole(DataType type, TestOp op, std::span<const int> values) {
  int64_t result = wrapped(type, values[0]);
  const bool larger_wins = op == TestOp::kMax;
  if (is_scaled(op)) result *= scalar_of(0);
  for (size_t r = 1; r < values.size(); r++) {
    const int64_t value = wrapped(type, values[r]);
    if (op == TestOp::kProd) {  // wraps
      result = static_cast<int64_t>(static_cast<uint64_t>(result) * static_cast<uint64_t>(value));
    } else if (op == TestOp::kMax || op == TestOp::kMin) {
      const bool larger = is_signed(type)
                              ? value > result
                              : static_cast<uint64_t>(value) > static_cast<uint64_t>(result);
      if (value != result && larger == larger_wins) result = value;
    } else {
      result += is_scaled(op) ? value * scalar_of(static_cast<int>(r)) : value;
    }
  }
  result = wrapped(type, result);
  if (op != TestOp::kAvg) return result;
  const auto n = static_cast<int64_t>(values.size());
  if (type == DataType::kUint64) {
    return static_cast<int64_t>(static_cast<uint64_t>(result) / static_cast<uint64_t>(n));
  }
  return result / n;
}

inline double reduced_real(TestOp op, std::span<const int> values) {
  double result = values[0] * (is_scaled(op) ? scalar_of(0) : 1);
  for (size_t r = 1; r < values.size(); r++) {
    const double value = values[r];
    switch (op) {
      case TestOp::kProd:
        result *= value;
        break;
      case TestOp::kMax:
        result = std::max(result, value);
        break;
      case TestOp::kMin:
        result = std::min(result, value);
        break;
      default:
        result += is_scaled(op) ? value * scalar_of(static_cast<int>(r)) : value;
    }
  }
  return op == TestOp::kAvg ? result / static_cast<double>(values.size()) : result;
}

}  // namespace detail

/// True if the element at `got` is what all ranks' `values` reduce to.
inline bool is_reduced(DataType type, TestOp op, std::span<const int> values,
                       const std::byte* got) {
  std::byte wanted[8] = {};
  if (!is_float(type)) {
    const int64_t whole = detail::reduced_whole(type, op, values);
    std::memcpy(wanted, &whole, sizeof whole);
    return std::memcmp(wanted, got, size_of(type)) == 0;
  }
  const double real = detail::reduced_real(op, values);
  const size_t n = values.size();
  const bool inexact_average = op == TestOp::kAvg && (n & (n - 1)) != 0;
  if (!inexact_average && !(is_scaled(op) && type == DataType::kFloat8e5m2)) {
    put(type, real, wanted);
    if (real == 0) return get(type, got) == 0;  // of either sign
    return std::memcmp(wanted, got, size_of(type)) == 0;
  }
  const double most = is_scaled(op) ? 2.0 * static_cast<double>(n) : 1.0;
  return std::abs(get(type, got) - real) <= static_cast<double>(n) * epsilon(type) * most;
}

}  // namespace accl
