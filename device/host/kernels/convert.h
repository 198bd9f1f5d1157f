// Widening the small float formats to float and rounding back, a vector at a time.
//
// Rounding is to nearest even (the float mode is the default while a kernel runs) and NaNs are
// canonical before they get here, see `canonical`. The vector code and the F16C instructions give
// the same bits as src/base/float.h, which tests/device/kernels_test.cc proves over all codes.
// VCVTNEPS2BF16 is not used: it takes subnormals for zero whatever the mode.
#pragma once

#include "device/host/kernels/vector.h"
#include "src/base/type.h"

namespace accl {
namespace {

/// A small format: where its fields lie, and the largest finite value (saturation) or 0 (infinity).
template <DataType type>
struct Format;
template <>
struct Format<DataType::kFloat16> {
  static constexpr int kBits = 16, kMantissa = 10, kBias = 15;
  static constexpr uint32_t kSaturate = 0;
  static constexpr uint32_t kNan = 0x7e00;
};
template <>
struct Format<DataType::kFloat8e4m3> {
  static constexpr int kBits = 8, kMantissa = 3, kBias = 7;
  static constexpr uint32_t kSaturate = 0x43e00000;  // 448
  static constexpr uint32_t kNan = 0x7f;
};
template <>
struct Format<DataType::kFloat8e5m2> {
  static constexpr int kBits = 8, kMantissa = 2, kBias = 15;
  static constexpr uint32_t kSaturate = 0x47600000;  // 57344
  static constexpr uint32_t kNan = 0x7f;
};

constexpr int32_t kInfinityBits = 0x7f800000;
constexpr int32_t kMagnitudeMask = 0x7fffffff;

/// Every NaN becomes the positive quiet NaN without payload: x86 and Arm differ in the sign of the
/// NaN they make, and which operand's payload survives an addition is the compiler's choice.
template <int kLanes>
[[gnu::always_inline]] inline Vec<float, kLanes> canonical(const Vec<float, kLanes>& value) {
  const Vec<int32_t, kLanes> nan = Vec<int32_t, kLanes>{} + 0x7fc00000;
  return value != value ? bits_as<Vec<float, kLanes>>(nan) : value;
}
template <int kLanes>
[[gnu::always_inline]] inline Vec<double, kLanes> canonical(const Vec<double, kLanes>& value) {
  const Vec<int64_t, kLanes> nan = Vec<int64_t, kLanes>{} + 0x7ff8000000000000;
  return value != value ? bits_as<Vec<double, kLanes>>(nan) : value;
}

/// Float lanes of codes in 32-bit lanes, by integer arithmetic: what has no instruction.
template <DataType type, int kLanes>
[[gnu::always_inline]] inline Vec<float, kLanes> widen_bits(const Vec<int32_t, kLanes>& code) {
  using F = Format<type>;
  using I = Vec<int32_t, kLanes>;
  using R = Vec<float, kLanes>;
  constexpr int32_t sign_bit = 1 << (F::kBits - 1);
  constexpr int32_t rebias = (127 - F::kBias) << 23;
  const I sign = (code & sign_bit) << (32 - F::kBits);
  const I magnitude = (code & (sign_bit - 1)) << (23 - F::kMantissa);
  // A subnormal code, given the exponent of the smallest normal number, is too large by just that.
  const I least = I{} + (rebias + (1 << 23));
  const R subnormal = bits_as<R>(magnitude + least) - bits_as<R>(least);
  I result = magnitude + rebias;
  result = magnitude < (1 << 23) ? bits_as<I>(subnormal) : result;
  if constexpr (type == DataType::kFloat8e4m3) {
    result = (code & 0x7f) == 0x7f ? I{} + 0x7fc00000 : result;
  } else {
    constexpr int32_t top = ((1 << (F::kBits - 1 - F::kMantissa)) - 1) << 23;
    result = magnitude >= top ? result + rebias : result;
  }
  return bits_as<R>(result | sign);
}

/// Codes in 32-bit lanes, rounded to nearest even; NaNs are canonical.
template <DataType type, int kLanes>
[[gnu::always_inline]] inline Vec<int32_t, kLanes> narrow_bits(const Vec<float, kLanes>& value) {
  using F = Format<type>;
  using I = Vec<int32_t, kLanes>;
  using R = Vec<float, kLanes>;
  constexpr int shift = 23 - F::kMantissa;
  const I bits = bits_as<I>(value);
  const I sign = (bits >> (32 - F::kBits)) & (1 << (F::kBits - 1));
  I magnitude = bits & kMagnitudeMask;
  const I nan = magnitude > kInfinityBits;
  // Values from half a unit below 65536 on round to binary16's infinity; larger ones are cut there.
  constexpr int32_t most = F::kSaturate != 0 ? static_cast<int32_t>(F::kSaturate) : 0x47800000;
  magnitude = magnitude > most ? I{} + most : magnitude;
  const I odd = (magnitude >> shift) & 1;
  const I normal = ((magnitude + (odd + ((1 << (shift - 1)) - 1))) >> shift) -
                   ((127 - F::kBias) << F::kMantissa);
  // Adding a power of two whose unit is the smallest subnormal makes the adder round for us.
  const I magic = I{} + ((127 + 24 - F::kBias - F::kMantissa) << 23);
  const I subnormal = bits_as<I>(bits_as<R>(magnitude) + bits_as<R>(magic)) - magic;
  constexpr int32_t least_normal = (127 + 1 - F::kBias) << 23;
  I code = magnitude < least_normal ? subnormal : normal;
  code = code | sign;
  return nan ? I{} + static_cast<int32_t>(F::kNan) : code;
}

#if defined(__F16C__) || defined(__AVX512F__)
constexpr bool kHalfInstructions = true;
template <int kLanes>
[[gnu::always_inline]] inline Vec<float, kLanes> widen_half(const Vec<uint16_t, kLanes>& code) {
  Vec<float, kLanes> result;
  if constexpr (kLanes == 4) {
    long long half = 0;
    std::memcpy(&half, &code, sizeof(half));
    const __m128 wide = _mm_cvtph_ps(_mm_cvtsi64_si128(half));
    std::memcpy(&result, &wide, sizeof(wide));
  } else if constexpr (kLanes == 8) {
    const __m256 wide = _mm256_cvtph_ps(load<__m128i>(reinterpret_cast<const char*>(&code)));
    std::memcpy(&result, &wide, sizeof(wide));
  }
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    const __m512 wide =
        _mm512_maskz_cvtph_ps(0xffff, load<__m256i>(reinterpret_cast<const char*>(&code)));
    std::memcpy(&result, &wide, sizeof(wide));
  }
#endif
  return result;
}
template <int kLanes>
[[gnu::always_inline]] inline Vec<uint16_t, kLanes> narrow_half(const Vec<float, kLanes>& value) {
  Vec<uint16_t, kLanes> result;
  if constexpr (kLanes == 4) {
    const __m128i code = _mm_cvtps_ph(bits_as<__m128>(value), _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(&result, &code, sizeof(result));
  } else if constexpr (kLanes == 8) {
    const __m128i code = _mm256_cvtps_ph(bits_as<__m256>(value), _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(&result, &code, sizeof(result));
  }
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    const __m256i code =
        _mm512_maskz_cvtps_ph(0xffff, bits_as<__m512>(value), _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(&result, &code, sizeof(result));
  }
#endif
  return result;
}
#else
constexpr bool kHalfInstructions = false;
#endif

/// fp16 has instructions that take codes packed side by side.
template <DataType type, int kLanes>
constexpr bool kPackedHalf = type == DataType::kFloat16&& kHalfInstructions&& kLanes >= 4;

/// The upper 16 bits hold the rounded bf16; a canonical NaN stays the canonical NaN.
template <int kLanes>
[[gnu::always_inline]] inline Vec<uint32_t, kLanes> round_bfloat16(
    const Vec<float, kLanes>& value) {
  const auto bits = bits_as<Vec<uint32_t, kLanes>>(value);
  return bits + (((bits >> 16) & 1) + 0x7fff);
}

}  // namespace
}  // namespace accl
