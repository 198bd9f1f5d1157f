#include "device/host/kernels/loop.h"

namespace accl {

constexpr KernelTable kScalarTable = make_table();

}  // namespace accl
