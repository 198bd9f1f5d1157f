// The text behind ncclGetLastError: one per process, as in NCCL, written by any thread.
//
// Owned by the library; the API boundary records, users read. Any thread; no allocation.
#pragma once

#include <string_view>

#include "accl/nccl.h"
#include "src/base/status.h"

namespace accl {

/// Makes "<function>: <text of status>" (the text alone if there is no function to blame) the
/// process's last error, and logs it as a WARN unless the log has it already. Longer texts than
/// kLastErrorBytes - 1 are cut.
void record_error(std::string_view function, const Status& status);
inline constexpr int kLastErrorBytes = 2048;

/// Records "<function> is not available in this version: see docs/compat.md"; ncclInvalidUsage.
ncclResult_t refuse(std::string_view function);

/// The last error, "" if there was none. Valid until the next call by the same thread.
const char* last_error();

/// In the child of a fork: the parent's threads are gone, and with them whoever held the lock.
void renew_last_error();

}  // namespace accl
