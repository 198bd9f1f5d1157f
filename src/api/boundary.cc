#include "src/api/boundary.h"

namespace accl {

ncclResult_t report(const char* name, const Status& status) noexcept {
  const auto code = static_cast<ncclResult_t>(status.code());
  if (code == ncclSuccess || code == ncclInProgress) return code;
  record_error(name, status);
  return code;
}

}  // namespace accl
