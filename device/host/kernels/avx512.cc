#include "device/host/kernels/loop.h"

namespace accl {

constexpr KernelTable kAvx512Table = make_table();

}  // namespace accl
