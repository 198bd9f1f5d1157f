// The thread's floating-point mode: is it the one that the kernels' results are defined by?
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace accl {
namespace {

#if defined(__x86_64__)
using FloatMode = uint32_t;
constexpr FloatMode kDefaultFloatMode = 0x1f80;  // nearest, all exceptions masked, no FTZ, no DAZ
constexpr FloatMode kFloatModeBits = 0xffc0;     // without the sticky exception flags
[[gnu::always_inline]] inline FloatMode float_mode() { return _mm_getcsr(); }
#elif defined(__aarch64__)
using FloatMode = uint64_t;
constexpr FloatMode kDefaultFloatMode = 0;
constexpr FloatMode kFloatModeBits = 0x07c89f07;  // AHP, DN, FZ, RMode, FZ16, traps, NEP, AH, FIZ
[[gnu::always_inline]] inline FloatMode float_mode() {
  FloatMode mode = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
#else
using FloatMode = uint32_t;
constexpr FloatMode kDefaultFloatMode = 0;
constexpr FloatMode kFloatModeBits = 0;
[[gnu::always_inline]] inline FloatMode float_mode() { return 0; }
#endif

[[gnu::always_inline]] inline bool float_mode_is_default() {
  return (float_mode() & kFloatModeBits) == kDefaultFloatMode;
}

}  // namespace
}  // namespace accl
