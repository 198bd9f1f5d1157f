#include "device/host/kernels/loop.h"

namespace accl {

constexpr KernelTable kAvx2Table = make_table();

}  // namespace accl
