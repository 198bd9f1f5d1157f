// The settings of the host device: how many devices there are.
//
// Read once per process, on first use. Any thread.
#pragma once

#include "src/base/status.h"

namespace accl::host {

inline constexpr int kMaxDevices = 1024;
inline constexpr int kDefaultDevices = 8;

/// The value of ACCL_HOST_DEVICES: null or empty is the default; otherwise a whole number from 1 to
/// kMaxDevices with nothing around it, or invalid_argument.
Result<int> parse_device_count(const char* text);

/// The process's number of devices, or why the setting is wrong (the same answer every time).
Result<int>& device_count();

}  // namespace accl::host
