// The kernel tables, one per instruction set, and the float mode: what the files of this folder
// share with external linkage. Constant data and pure functions; any thread.
#pragma once

#include "device/reduce.h"

namespace accl {

struct KernelTable {
  Kernel reduce[kDataTypes][kReduceOps];
  Kernel copy;
};

extern const KernelTable kScalarTable;
#if defined(__x86_64__)
extern const KernelTable kAvx2Table;
extern const KernelTable kAvx512Table;
#endif

/// Runs `kernel` with rounding to nearest, subnormals kept and exceptions masked, then restores the
/// caller's mode. Out of line and through a pointer, so that no arithmetic moves across the switch.
void run_in_default_float_mode(Kernel kernel, const Pass& pass);

}  // namespace accl
