// The one place where the library's results become NCCL's, and where exceptions end.
// Any thread.
#pragma once

#include <new>

#include "accl/nccl.h"
#include "src/api/last_error.h"
#include "src/base/status.h"

namespace accl {

/// Records "<name>: <text>" and returns the code.
ncclResult_t report(const char* name, const Status& status) noexcept;

/// Runs `body`, which returns a Status, for the API function `name`; the text of a failure is
/// recorded with the name before it.
template <class Body>
ncclResult_t boundary(const char* name, Body&& body) noexcept {
  try {
    const Status status = body();
    if (status.ok()) [[likely]]
      return ncclSuccess;
    return report(name, status);
  } catch (const std::bad_alloc&) {
    return report(name, system_error("out of memory"));
  } catch (...) {
    return report(name, internal_error("unexpected exception"));
  }
}

}  // namespace accl
