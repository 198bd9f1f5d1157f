// Failed calls: the error number for the caller, the text for the person.
//
// The text is kept per thread, in a fixed array: nothing here allocates or fails. Any thread.
#pragma once

#include <string_view>

#include "accl/device.h"

namespace accl::host {

/// Keeps `text` (cut to 511 bytes) as this thread's last error text and returns `error`.
acclError_t fail(acclError_t error, std::string_view text);

/// The text of this thread's last `fail`; "" before the first.
const char* last_error_text();

/// acclErrorInvalidHandle with the value of the handle in the text. `what`: "stream" or "event".
acclError_t bad_handle(std::string_view what, const void* handle);

/// acclErrorInvalidValue: `argument` must not be NULL.
acclError_t null_argument(std::string_view argument);

}  // namespace accl::host
