// Makes a program shorter without changing what it computes.
//
// Pure; any thread.
#pragma once

#include "src/plan/program.h"

namespace accl {

/// In time linear in the steps:
/// - [... -> x] [x -> send] become one step (the value is sent while it is at hand);
/// - a store that nobody reads and that is not a result is dropped, and a step without effect too;
/// - scratch is numbered densely and `scratch_chunks` set.
/// Chunks that several lanes touch keep their stores.
void fuse(Program& program);

}  // namespace accl
