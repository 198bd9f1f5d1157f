// One hop: everybody's vector goes to everybody who sums, and is summed in rank order there.
#include "src/plan/algorithms.h"
#include "src/plan/fuse.h"

namespace accl {
namespace {

/// Sums the vectors of all ranks in the order of ranks into `out`. Unless it can be an operand of
/// the first sum, the own vector comes as a message from oneself, because a step adds a message to
/// a chunk. The sum is kept in scratch until its last step: in place, `out` is `in`, which peers
/// read.
void sum_in_rank_order(Program& program, Lane& lane, Rank rank, int ranks) {
  Loc target = out(0);
  target.final_value = 1;
  if (ranks == 1) {
    lane.push_back({.src = in(0), .dst = target});
    return;
  }
  if (rank > 1) lane.push_back({.send = program.port(rank, 0), .src = in(0)});
  Loc sum;
  for (Rank peer = 0; peer < ranks; ++peer) {
    if (peer == rank && rank == 0) {
      sum = in(0);
      sum.left = 1;
      continue;
    }
    if (peer == rank && rank == 1) continue;  // was added to the message of rank 0
    Step step{.recv = program.port(peer, 0), .src = sum, .dst = scratch(0)};
    if (peer == 0 && rank == 1) step.src = in(0);
    const bool last = peer == ranks - 1 || (rank == 1 && ranks == 2);
    if (last) step.dst = target;
    lane.push_back(step);
    sum = scratch(0);
    sum.left = 1;
  }
}

}  // namespace

Spread flat_spread(Rank rank, int ranks, Rank root) {
  Spread spread(ranks);
  if (rank != root) {
    spread.recv(root, 0);
    return spread;
  }
  for (int distance = 1; distance < ranks; ++distance) spread.send(root + distance, 0);
  return spread;
}

Program flat_all_reduce(Rank rank, int ranks) {
  Program program;
  Lane& lane = program.lanes.emplace_back();
  for (int distance = 1; distance < ranks; ++distance) {
    lane.push_back({.send = program.port((rank + distance) % ranks, 0), .src = in(0)});
  }
  sum_in_rank_order(program, lane, rank, ranks);
  fuse(program);
  return program;
}

Program flat_reduce(Rank rank, int ranks, Rank root) {
  Program program;
  Lane& lane = program.lanes.emplace_back();
  if (rank == root) {
    sum_in_rank_order(program, lane, rank, ranks);
  } else {
    lane.push_back({.send = program.port(root, 0), .src = in(0)});
  }
  fuse(program);
  return program;
}

}  // namespace accl
