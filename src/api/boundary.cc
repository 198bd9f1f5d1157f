#include "src/api/boundary.h"

#include <string>

namespace accl {

ncclResult_t report(const char* name, const Status& status) noexcept {
  const auto code = static_cast<ncclResult_t>(status.code());
  if (code == ncclSuccess || code == ncclInProgress) return code;
  try {
    record_error(std::string(name) + ": " + status.text());
  } catch (...) {
    record_error(status.text());
  }
  return code;
}

}  // namespace accl
