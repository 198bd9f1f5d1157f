// Version, error strings, last error, debug settings: the functions that need no communicator.
#include <array>
#include <exception>

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
  if (version == nullptr) {
    return accl::result_of(accl::invalid_argument("ncclGetVersion: version is NULL"));
  }
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
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
  try {
    auto loaded = accl::load_config(accl::process_environment());
    if (!loaded.ok()) {
      accl::result_of(loaded.status());
      return;
    }
    accl::configure_log(accl::log_settings(loaded->config));
  } catch (const std::exception& error) {
    accl::record_error(error.what());
  }
}
