// Operations in streams: the turns that streams poll, and what becomes of them when a stream fails.
//
// Any thread.
#pragma once

#include "src/base/status.h"
#include "src/comm/communicator.h"

namespace accl {

/// Puts `turn`'s operation into its stream: it holds up later work there until it is done. The
/// operation and its communicator stay alive until then.
Status enter_stream(Turn& turn);

/// One holder less; the last one gives the operation back.
void let_go(Communicator& communicator, Operation& op);

/// After fork(): the parent's turns are none of ours.
void forget_turns();

}  // namespace accl
