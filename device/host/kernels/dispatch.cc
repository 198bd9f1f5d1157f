#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "device/host/kernels/float_mode.h"
#include "device/host/kernels/table.h"
#include "device/reduce.h"

namespace accl {
namespace {

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // cpuid itself for F16C: clang 14 does not know it by name. avx2 covers the system's support.
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  if (!__builtin_cpu_supports("avx2") || !f16c) return Isa::kScalar;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::kAvx512 : Isa::kAvx2;
#else
  return Isa::kScalar;
#endif
}

const KernelTable& table_of(Isa isa) {
#if defined(__x86_64__)
  switch (best_isa(isa)) {
    case Isa::kAvx512:
      return kAvx512Table;
    case Isa::kAvx2:
      return kAvx2Table;
    case Isa::kScalar:
      break;
  }
#else
  static_cast<void>(isa);
#endif
  return kScalarTable;
}

void set_float_mode(FloatMode mode) {
#if defined(__x86_64__)
  _mm_setcsr(mode);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
  static_cast<void>(mode);
#endif
}

}  // namespace

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return "AVX-512";
    case Isa::kAvx2:
      return "AVX2";
    case Isa::kScalar:
      break;
  }
  return "scalar";
}

Isa best_isa(Isa limit) {
  static const Isa best = detect();
  return limit < best ? limit : best;
}

Kernel reduce_kernel(DataType type, ReduceOp op, Isa isa) {
  return table_of(isa).reduce[static_cast<int>(type)][static_cast<int>(op)];
}

Kernel copy_kernel(Isa isa) { return table_of(isa).copy; }

void run_in_default_float_mode(Kernel kernel, const Pass& pass) {
  const FloatMode mode = float_mode();
  set_float_mode(kDefaultFloatMode);
  kernel(pass);
  set_float_mode(mode);
}

}  // namespace accl
