// Version, error strings, last error, debug settings: the functions that need no communicator.
#include <array>

#include "src/api/boundary.h"
#include "src/api/export.h"
#include "src/api/last_error.h"
#include "src/base/log.h"
#include "src/config/load.h"

namespace {

// NCCL's sentences, which scripts match on. Number 8 is ncclTimeout of NCCL 2.30, which this
// library does not return.
constexpr std::array<const char*, 9> kStrings = {
    "no error",
    "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    "unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "internal error - please report this issue to the NCCL developers",
    "invalid argument (run with NCCL_DEBUG=WARN for details)",
    "invalid usage (run with NCCL_DEBUG=WARN for details)",
    "remote process exited or there was a network error",
    "NCCL operation in progress",
    "timeout",
};

}  // namespace

ACCL_API(ncclResult_t, ncclGetVersion, (int* version)) {
  return accl::boundary("ncclGetVersion", [&]() -> accl::Status {
    if (version == nullptr) return accl::invalid_argument("version is NULL");
    *version = NCCL_VERSION_CODE;
    return {};
  });
}

ACCL_API(const char*, ncclGetErrorString, (ncclResult_t result)) {
  const auto number = static_cast<size_t>(result);  // negative numbers become large ones
  return number < kStrings.size() ? kStrings[number] : "unknown result code";
}

ACCL_API(const char*, ncclGetLastError, (ncclComm_t comm)) {
  static_cast<void>(comm);
  return accl::last_error();
}

ACCL_API(void, ncclResetDebugInit, ()) {
  accl::boundary("ncclResetDebugInit", []() -> accl::Status {
    const auto loaded = ACCL_TRY(accl::load_config(accl::process_environment()));
    accl::configure_log(accl::log_settings(loaded.config));
    return {};
  });
}
