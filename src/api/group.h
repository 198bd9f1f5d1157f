// Groups: calls collected between ncclGroupStart and ncclGroupEnd and then issued as one.
//
// A thread's own; a call outside of a group is a group of one. Within a group a communicator does
// its collectives in the order of the calls and then its sends and receives, which become one
// operation with a lane per peer and direction: no order of calls can deadlock them.
#pragma once

#include <cstdint>
#include <functional>

#include "accl/nccl.h"
#include "src/api/handles.h"
#include "src/base/status.h"
#include "src/comm/communicator.h"

namespace accl {

/// A checked call.
struct Call {
  Communicator* communicator = nullptr;
  ncclComm_t handle = nullptr;
  cudaStream_t stream = nullptr;
  CollectiveCall collective;  ///< unless `point_to_point`
  PointToPointCall transfer;
  bool is_point_to_point = false;
};

/// ncclGroupStart and ncclGroupEnd of this thread. End issues when it is the outermost; it returns
/// the latest error of the calls since Start, and then issues nothing.
void group_start();
Status group_end();
/// True between the two.
bool in_group();
/// Remembers that a call of this thread's group has failed.
void group_failed(const Status& why);
/// The same for a call that reports the error itself: End does not log it again.
void group_refused(const Status& why);

/// Issues the call now, or at the end of the thread's group.
Status submit(const Call& call);
/// Runs `init` now, or at the end of the thread's group together with the group's other inits, each
/// on a thread of its own. `init(false)` instead: the group has failed, it is not to be.
Status submit_init(std::function<Status(bool run)> init);

}  // namespace accl
