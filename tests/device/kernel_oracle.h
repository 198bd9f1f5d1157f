// The scalar oracle of the kernels, and operands that are worth trying. For tests, one thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "device/reduce.h"
#include "src/base/float.h"

namespace accl {

using Bytes = std::vector<uint8_t>;

inline std::vector<Isa> isas() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (best_isa(isa) == isa) found.push_back(isa);
  }
  return found;
}

inline std::vector<DataType> types() {
  std::vector<DataType> all;
  for (int i = 0; i < kDataTypes; ++i) all.push_back(static_cast<DataType>(i));
  return all;
}

constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax, ReduceOp::kMin};

inline bool is_signed(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt32 || type == DataType::kInt64;
}

inline std::string label(DataType type, ReduceOp op, Isa isa) {
  return std::string(name_of(type)) + " " + std::string(name_of(op)) + " " +
         std::string(name_of(isa));
}

// --- the oracle ---

inline uint64_t mask_of(DataType type) { return ~uint64_t{0} >> (64 - 8 * size_of(type)); }

inline float to_float(DataType type, uint64_t code) {
  switch (type) {
    case DataType::kFloat16:
      return half_to_float(static_cast<uint16_t>(code));
    case DataType::kBfloat16:
      return bfloat16_to_float(static_cast<uint16_t>(code));
    case DataType::kFloat8e4m3:
      return float8e4m3_to_float(static_cast<uint8_t>(code));
    case DataType::kFloat8e5m2:
      return float8e5m2_to_float(static_cast<uint8_t>(code));
    default:
      return std::bit_cast<float>(static_cast<uint32_t>(code));
  }
}

inline uint64_t from_float(DataType type, float value) {
  switch (type) {
    case DataType::kFloat16:
      return float_to_half(value);
    case DataType::kBfloat16:
      return float_to_bfloat16(value);
    case DataType::kFloat8e4m3:
      return float_to_float8e4m3(value);
    case DataType::kFloat8e5m2:
      return float_to_float8e5m2(value);
    default:
      return std::isnan(value) ? 0x7fc00000U : std::bit_cast<uint32_t>(value);
  }
}

/// True when `left` is the result of max or min: docs/numerics.md in the order of its sentences.
template <class N>
bool left_wins(ReduceOp op, N left, N right) {
  if (std::isnan(right)) return true;
  if (std::isnan(left)) return false;
  if (left == right) {
    const bool negative = std::signbit(left);
    if (negative == std::signbit(right)) return true;
    return negative == (op == ReduceOp::kMin);
  }
  return op == ReduceOp::kMax ? left > right : left < right;
}

template <class N>
N combine_numbers(ReduceOp op, N left, N right) {
  if (op == ReduceOp::kSum) return left + right;
  if (op == ReduceOp::kProd) return left * right;
  return left_wins(op, left, right) ? left : right;
}

template <class N>
N float_value(ReduceOp op, const Pass& pass, N left, N right) {
  if (pass.scale_left) left *= static_cast<N>(pass.scale);
  if (pass.scale_right) right *= static_cast<N>(pass.scale);
  N value = pass.right != nullptr ? combine_numbers(op, left, right) : left;
  if (pass.divide_by > 1) value /= static_cast<N>(pass.divide_by);
  return value;
}

inline uint64_t integer_value(DataType type, ReduceOp op, const Pass& pass, uint64_t left,
                              uint64_t right) {
  const auto extend = [&](uint64_t bits) {
    const int unused = 64 - 8 * static_cast<int>(size_of(type));
    return is_signed(type) ? static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused)
                           : bits & mask_of(type);
  };
  const auto less = [&](uint64_t a, uint64_t b) {
    return is_signed(type) ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b;
  };
  const auto scale = static_cast<uint64_t>(pass.scale_int);
  uint64_t l = extend(pass.scale_left ? left * scale : left);
  const uint64_t r = extend(pass.scale_right ? right * scale : right);
  if (pass.right != nullptr) {
    if (op == ReduceOp::kSum) l = extend(l + r);
    if (op == ReduceOp::kProd) l = extend(l * r);
    if (op == ReduceOp::kMax && less(l, r)) l = r;
    if (op == ReduceOp::kMin && less(r, l)) l = r;
  }
  if (pass.divide_by > 1) {
    l = is_signed(type)
            ? static_cast<uint64_t>(static_cast<int64_t>(l) / static_cast<int64_t>(pass.divide_by))
            : l / pass.divide_by;
  }
  return l & mask_of(type);
}

inline uint64_t expected(DataType type, ReduceOp op, const Pass& pass, uint64_t left,
                         uint64_t right) {
  if (!is_float(type)) return integer_value(type, op, pass, left, right);
  const bool plain = !pass.scale_left && !pass.scale_right && pass.divide_by <= 1;
  if (plain && pass.right == nullptr) return left;
  const bool extreme = op == ReduceOp::kMax || op == ReduceOp::kMin;
  if (type == DataType::kFloat64) {
    const auto l = std::bit_cast<double>(left);
    const auto r = std::bit_cast<double>(right);
    if (plain && extreme) return left_wins(op, l, r) ? left : right;
    const double value = float_value(op, pass, l, r);
    return std::isnan(value) ? 0x7ff8000000000000U : std::bit_cast<uint64_t>(value);
  }
  const float l = to_float(type, left);
  const float r = to_float(type, right);
  if (plain && extreme) return left_wins(op, l, r) ? left : right;
  if (pass.right == nullptr) return from_float(type, float_value(op, pass, l, r));
  // A scaled operand is what a peer would have sent.
  const auto scaled = [&](bool scale, float value) {
    return scale ? to_float(type, from_float(type, value * static_cast<float>(pass.scale))) : value;
  };
  Pass rest = pass;
  rest.scale_left = rest.scale_right = false;
  return from_float(type,
                    float_value(op, rest, scaled(pass.scale_left, l), scaled(pass.scale_right, r)));
}

inline uint64_t element(const void* from, DataType type, size_t index) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(from) + index * size_of(type), size_of(type));
  return bits;
}

inline void put(Bytes& to, DataType type, uint64_t bits) {
  const auto* from = reinterpret_cast<const uint8_t*>(&bits);
  to.insert(to.end(), from, from + size_of(type));
}

/// The whole output that `pass` must write.
inline Bytes expected_output(DataType type, ReduceOp op, const Pass& pass) {
  Bytes bytes;
  for (size_t i = 0; i < pass.count; ++i) {
    const uint64_t right = pass.right != nullptr ? element(pass.right, type, i) : 0;
    put(bytes, type, expected(type, op, pass, element(pass.left, type, i), right));
  }
  return bytes;
}

inline void expect_same(DataType type, const Pass& pass, const Bytes& want, const void* got,
                        const std::string& what) {
  if (want.empty() || std::memcmp(want.data(), got, want.size()) == 0) return;
  for (size_t i = 0; i < pass.count; ++i) {
    const uint64_t wanted = element(want.data(), type, i);
    const uint64_t found = element(got, type, i);
    if (wanted == found) continue;
    const uint64_t right = pass.right != nullptr ? element(pass.right, type, i) : 0;
    FAIL() << what << ": element " << i << " of " << pass.count << std::hex << ": "
           << element(pass.left, type, i) << " (+) " << right << " gave " << found << ", not "
           << wanted;
  }
}

/// Runs the pass out of place on every instruction set and compares.
inline void check(DataType type, ReduceOp op, Pass pass) {
  const Bytes want = expected_output(type, op, pass);
  for (const Isa isa : isas()) {
    Bytes out(want.size() + 1, 0xa5);
    pass.out = out.data();
    reduce_kernel(type, op, isa)(pass);
    expect_same(type, pass, want, out.data(), label(type, op, isa));
    ASSERT_EQ(out.back(), 0xa5);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// --- operands ---

inline std::vector<uint64_t> special_codes(DataType type) {
  const uint64_t mask = mask_of(type);
  const uint64_t sign = (mask >> 1) + 1;
  std::vector<uint64_t> codes = {0, 1, 2, 3, mask >> 1, (mask >> 1) - 1, mask, mask - 1};
  if (is_float(type) && size_of(type) > 1) {
    const uint64_t mantissa_bits = type == DataType::kFloat64   ? 52
                                   : type == DataType::kFloat32 ? 23
                                   : type == DataType::kFloat16 ? 10
                                                                : 7;
    const uint64_t one = uint64_t{1} << mantissa_bits;
    const uint64_t inf = (mask >> 1) & ~(one - 1);
    for (const uint64_t code :
         {one, one - 1, one + 1, one / 2, one / 2 + 1, inf, inf - 1, inf + 1, inf | (one / 2),
          inf | (one / 2) | 1, inf - one, (inf / 2) & ~(one - 1), ((inf / 2) & ~(one - 1)) + 1}) {
      codes.push_back(code);
    }
  }
  const size_t positive = codes.size();
  for (size_t i = 0; i < positive; ++i) codes.push_back((codes[i] ^ sign) & mask);
  return codes;
}

struct Operands {
  Bytes left;
  Bytes right;
  size_t count = 0;
};

/// All pairs of special codes, then random codes and random numbers of near magnitudes.
inline Operands interesting_operands(DataType type, size_t random_pairs) {
  Operands operands;
  const auto add = [&](uint64_t left, uint64_t right) {
    put(operands.left, type, left);
    put(operands.right, type, right);
    ++operands.count;
  };
  const std::vector<uint64_t> codes = special_codes(type);
  for (const uint64_t left : codes) {
    for (const uint64_t right : codes) add(left, right);
  }
  std::mt19937_64 random(20 + static_cast<unsigned>(type));
  const uint64_t low = mask_of(type) >> (size_of(type) >= 4 ? 6 : 3);
  for (size_t i = 0; i < random_pairs; ++i) {
    const uint64_t left = random();
    const uint64_t near = left ^ (random() & low);  // ties, cancellation, subnormal results
    add(left, i % 2 == 0 ? random() : near);
  }
  return operands;
}

inline Operands all_byte_pairs() {
  Operands operands;
  for (int i = 0; i < 65536; ++i) {
    operands.left.push_back(static_cast<uint8_t>(i >> 8));
    operands.right.push_back(static_cast<uint8_t>(i));
  }
  operands.count = 65536;
  return operands;
}

inline Pass pass_over(const Operands& operands) {
  return {.left = operands.left.data(), .right = operands.right.data(), .count = operands.count};
}

}  // namespace accl
