// The small float formats as values: fp16, bf16 and the two OCP 8-bit formats, to and from float.
//
// For oracles, tools and settings; one value at a time and integer arithmetic only, so the results
// do not depend on the thread's floating-point mode. The kernels have vector code of their own
// (device/host/kernels/convert.h) that gives the same bits; tests/device/kernels_test.cc compares
// the two. Rules and sources: docs/numerics.md. Pure functions; any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace accl {

namespace detail {

/// A binary format of `kBits` = 1 + exponent bits + `kMantissa` bits with exponent bias `kBias`.
template <int kBits, int kMantissa, int kBias>
struct SmallFloat {
  static constexpr uint32_t kSign = 1U << (kBits - 1);

  /// The value of a finite code, without regard to what the format says of the top exponent.
  static constexpr float finite(uint32_t code) {
    const uint32_t sign = (code & kSign) << (32 - kBits);
    uint32_t magnitude = code & (kSign - 1);
    if (magnitude == 0) return std::bit_cast<float>(sign);
    int exponent = static_cast<int>(magnitude >> kMantissa);
    if (exponent == 0) {  // subnormal here, normal in float: shift the leading one into place
      exponent = 1;
      while ((magnitude >> kMantissa) == 0) {
        magnitude <<= 1;
        --exponent;
      }
    }
    const uint32_t fraction = magnitude & ((1U << kMantissa) - 1);
    const auto biased = static_cast<uint32_t>(exponent - kBias + 127);
    return std::bit_cast<float>(sign | (biased << 23) | (fraction << (23 - kMantissa)));
  }

  /// The code of |value|, rounded to nearest even, as if the exponent had no upper end.
  /// `magnitude` is the bit pattern of a finite non-negative float.
  static constexpr uint32_t round(uint32_t magnitude) {
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    uint32_t significand = magnitude & 0x7fffff;
    if (magnitude >= 0x800000) significand |= 0x800000;
    int shift = 23 - kMantissa;
    if (exponent < 1 - kBias) shift += 1 - kBias - exponent;
    if (shift > 25) return 0;  // below half of the smallest subnormal
    const uint32_t half = 1U << (shift - 1);
    const uint32_t rest = significand & ((1U << shift) - 1);
    uint32_t code = significand >> shift;
    if (rest > half || (rest == half && (code & 1) != 0)) ++code;
    if (exponent < 1 - kBias) return code;  // a carry makes the smallest normal number: right as is
    return code + (static_cast<uint32_t>(exponent + kBias - 1) << kMantissa);
  }
};

using Half = SmallFloat<16, 10, 15>;
using E4m3 = SmallFloat<8, 3, 7>;
using E5m2 = SmallFloat<8, 2, 15>;

inline constexpr uint32_t kFloatInf = 0x7f800000;
inline constexpr uint32_t kFloatNan = 0x7fc00000;

}  // namespace detail

/// IEEE binary16. A NaN becomes the float with the same payload bits, quiet.
constexpr float half_to_float(uint16_t code) {
  const uint32_t sign = (code & 0x8000U) << 16;
  if ((code & 0x7c00U) != 0x7c00U) return detail::Half::finite(code);
  const uint32_t fraction = (code & 0x3ffU) << 13;
  const uint32_t quiet = fraction != 0 ? 0x400000U : 0U;
  return std::bit_cast<float>(sign | detail::kFloatInf | quiet | fraction);
}

/// Nearest even; overflow gives infinity, every NaN gives 0x7e00.
constexpr uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > detail::kFloatInf) return 0x7e00;
  const uint32_t sign = (bits >> 16) & 0x8000;
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // >= 65536
  return static_cast<uint16_t>(sign | detail::Half::round(magnitude));
}

/// bfloat16 is the upper half of a float: exact.
constexpr float bfloat16_to_float(uint16_t code) {
  return std::bit_cast<float>(static_cast<uint32_t>(code) << 16);
}

/// Nearest even; overflow gives infinity, every NaN gives 0x7fc0.
constexpr uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > detail::kFloatInf) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// OCP E4M3: no infinity; 0x7f and 0xff are NaN.
constexpr float float8e4m3_to_float(uint8_t code) {
  if ((code & 0x7f) == 0x7f) return std::bit_cast<float>(detail::kFloatNan);
  return detail::E4m3::finite(code);
}

/// Nearest even, saturating: |value| above 448, infinity too, gives 448; every NaN gives 0x7f.
constexpr uint8_t float_to_float8e4m3(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > detail::kFloatInf) return 0x7f;
  const uint32_t sign = (bits >> 24) & 0x80;
  if (magnitude >= 0x43e00000) return static_cast<uint8_t>(sign | 0x7e);  // >= 448
  return static_cast<uint8_t>(sign | detail::E4m3::round(magnitude));
}

/// OCP E5M2: 0x7c is infinity, above it NaN.
constexpr float float8e5m2_to_float(uint8_t code) {
  return half_to_float(static_cast<uint16_t>(code << 8));  // the upper half of a binary16
}

/// Nearest even, saturating: |value| above 57344, infinity too, gives 57344; every NaN gives 0x7f.
constexpr uint8_t float_to_float8e5m2(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > detail::kFloatInf) return 0x7f;
  const uint32_t sign = (bits >> 24) & 0x80;
  if (magnitude >= 0x47600000) return static_cast<uint8_t>(sign | 0x7b);  // >= 57344
  return static_cast<uint8_t>(sign | detail::E5m2::round(magnitude));
}

}  // namespace accl
