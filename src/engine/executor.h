// Walks the lanes of one operation. Never blocks, never allocates after warm-up.
//
// The inline path, the engine's thread and the simulators all come through here: no collective has
// code of its own. Called only by the thread that has borrowed the operation's communicator.
#pragma once

#include <cstddef>

#include "src/engine/operation.h"

namespace accl {

/// Gives a free operation so much room: for plans that it covers, `start` and `advance` then
/// allocate nothing (but for messages lent in unusual numbers). May throw std::bad_alloc.
void make_room(Operation& operation, const Room& room);

/// Sets the lanes of `operation` to their first step. The plan, buffers and arithmetic are set.
void start(Operation& operation);

enum class Advance { kBlocked, kMoved, kDone };

/// Runs every lane as far as it goes without waiting, a step of each in turn. kMoved: something was
/// done and more is left; kBlocked: every lane waits for a peer.
Advance advance(Operation& operation);

/// False while a peer may still read memory that the operation has lent.
bool is_returned(Operation& operation);

/// Where an operation waits, for reports: the first lane that is not finished.
struct WaitPoint {
  size_t lane = 0;
  LaneState at = {};
  Rank peer = -1;         ///< whom the step waits for; -1: nobody in particular
  bool receives = false;  ///< waits for a message (else for room to send one)
  RecvEnd* recv = nullptr;
  SendEnd* send = nullptr;
  uint32_t signature = 0;
  size_t bytes = 0;  ///< point-to-point: of the whole buffer
};
/// The wait point of lane `lane` or the first unfinished one after it; lane == lanes(): none left.
WaitPoint wait_point(const Operation& operation, size_t lane);

}  // namespace accl
