// Vectors of the instruction set that the including file is compiled for: loads, stores, selects.
//
// Everything in device/host/kernels/*.h but table.h has internal linkage and is always inlined. The
// three instruction-set files are compiled with different flags; an inline function with external
// linkage would be merged by the linker, and AVX-512 code could end up in the baseline path. For
// the same reason these headers call no inline function of the standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace accl {
namespace {

/// Bytes of a vector register.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class E, int kLanes>
struct VectorOf {
  using Type __attribute__((vector_size(kLanes * sizeof(E)))) = E;
};
template <class E, int kLanes>
using Vec = typename VectorOf<E, kLanes>::Type;

/// The same bits as another vector type.
template <class To, class From>
[[gnu::always_inline]] inline To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return reinterpret_cast<To>(from);
}

template <class V>
[[gnu::always_inline]] inline V load(const char* from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}

template <class V>
[[gnu::always_inline]] inline void store(char* to, const V& value) {
  std::memcpy(to, &value, sizeof(V));
}

/// Stores round the caches. `to` is aligned to sizeof(V).
template <class V>
[[gnu::always_inline]] inline void stream(char* to, const V& value) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to),
                        load<__m512i>(reinterpret_cast<const char*>(&value)));
    return;
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to),
                        load<__m256i>(reinterpret_cast<const char*>(&value)));
    return;
  }
#endif
#if defined(__x86_64__)
  const char* const from = reinterpret_cast<const char*>(&value);
  if constexpr (sizeof(V) == 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), load<__m128i>(from));
  } else if constexpr (sizeof(V) == 8) {
    _mm_stream_si64(reinterpret_cast<long long*>(to), load<long long>(from));
  } else if constexpr (sizeof(V) == 4) {
    _mm_stream_si32(reinterpret_cast<int*>(to), load<int>(from));
  } else {
    store(to, value);
  }
#else
  store(to, value);
#endif
}

/// Orders streamed stores before whatever the caller publishes next.
[[gnu::always_inline]] inline void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

/// True when streamed stores differ from plain ones.
#if defined(__x86_64__)
constexpr bool kCanStream = true;
#else
constexpr bool kCanStream = false;
#endif

}  // namespace
}  // namespace accl
