// ncclConfig_t as users pass it: of their header's size and version, which need not be ours.
// Pure; any thread.
#pragma once

#include "accl/nccl.h"
#include "src/base/status.h"
#include "src/comm/member.h"

namespace accl {

/// Checks `config` and takes over what has an effect. A wrong magic number or size, or a value that
/// is out of range: invalid_argument; a newer, larger struct or what is not available here:
/// invalid_usage. docs/compat.md has a line on every field.
Status apply_user_config(const ncclConfig_t& config, JoinRequest& request);

}  // namespace accl
