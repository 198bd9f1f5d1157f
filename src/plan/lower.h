// From spreads to programs: the one place where AllGather, ReduceScatter, Broadcast, Reduce and
// AllReduce are told apart.
//
// A spread read forwards is a gather. Read backwards it is a reduction: what was sent is received
// and added, what was received is sent. AllReduce is a reduction followed by a gather.
//
// What every program made here keeps to (src/plan/verify proves it):
// - Message k of a round from one rank to another goes on stream k mod `streams`, 2 unless told. A
//   step that receives and sends may then hold its message while it waits for room, even if a
//   stream has room for one message only, and a ring of such steps does not block.
// - Partial sums lie in `out` where this rank will have the finished chunk anyway, else in scratch,
//   never in `in`. `in` is not read once its contribution is in a partial sum or has been sent.
// - A step whose only place is scratch either receives (the message tells the size) or belongs to a
//   program with equal chunks.
//
// Pure functions over values; any thread.
#pragma once

#include <span>
#include <vector>

#include "src/plan/program.h"
#include "src/plan/spread.h"

namespace accl {

/// Blocks of all ranks to all ranks. `spread` has a chunk per rank; chunk i starts at rank i.
Program lower_all_gather(Rank rank, const Spread& spread, int streams = 2);
/// Block i of all ranks, reduced, to rank i. `spread` as for AllGather; it is read backwards.
Program lower_reduce_scatter(Rank rank, const Spread& spread, int streams = 2);
/// One chunk per rank, reduced to its owner by `reduction` backwards, then spread by `gather`. Both
/// spreads start chunk i at rank i; they may differ (a ring is mirrored to keep its direction).
Program lower_all_reduce(Rank rank, const Spread& reduction, const Spread& gather);

/// One tree per chunk: tree t spreads chunk t, has its own lane and uses stream t alone.
Program lower_broadcast(std::span<const Spread> trees);
Program lower_reduce(std::span<const Spread> trees);
/// As Reduce and Broadcast of each tree, from and to its source. Off the source the two directions
/// are two lanes, so that successive rounds overlap.
Program lower_all_reduce(std::span<const Spread> trees);

}  // namespace accl
