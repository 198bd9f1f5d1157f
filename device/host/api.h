// What the C entry points share: the thread's device, the guard at the border, handle look-up.
//
// For the api_*.cc files alone. Any thread.
#pragma once

#include <new>

#include "accl/device.h"
#include "device/host/failure.h"
#include "device/host/runtime.h"

namespace accl::host {

/// The device that this thread has chosen.
int current_device();

/// acclSuccess, or why the thread's device cannot be used (a wrong setting).
acclError_t check_device();

/// The stream of a handle, or null.
inline Stream* find_stream(acclStream_t handle) {
  Runtime* const runtime = Runtime::current();
  return runtime != nullptr ? runtime->streams.find(handle) : nullptr;
}

/// acclErrorNotPermitted, for a call that waits, inside a stream operation; else acclSuccess.
acclError_t may_wait();

/// The text that belongs to what Stream::submit and Stream::wait return.
acclError_t explain(acclError_t error, acclStream_t stream);

/// Runs `body`; the only exception that can arise below, bad_alloc, becomes an error.
template <class Body>
acclError_t guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(acclErrorMemoryAllocation, "malloc has no memory");
  }
}

}  // namespace accl::host
