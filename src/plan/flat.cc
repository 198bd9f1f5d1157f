// One hop: everybody's vector goes to everybody who sums, and is summed in rank order there.
#include "src/plan/algorithms.h"
#include "src/plan/fuse.h"

namespace accl {
namespace {

/// Sums the vectors of all ranks in the order of ranks into `out`. A step adds a message to a
/// chunk: when it is the own vector's turn, the sum so far becomes a message to oneself. The sum is
/// kept in scratch until its last step: in place, `out` is `in`, which peers read.
void sum_in_rank_order(Program& program, Lane& lane, Rank rank, int ranks) {
  Loc result = out(0);
  result.final_value = 1;
  if (ranks == 1) {
    lane.push_back({.src = in(0), .dst = result});
    return;
  }
  Loc sum = in(0);  // of rank 0, if it is this one; else nothing yet
  sum.left = 1;
  if (rank > 0) sum = {};
  for (Rank peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    Step step{.recv = program.port(peer, 0), .src = sum, .dst = scratch(0)};
    const bool is_own_next = peer + 1 == rank;
    if (is_own_next && rank == 1) {
      step.src = in(0);
    } else if (is_own_next) {
      const int16_t oneself = program.port(rank, 0);
      lane.push_back({.recv = step.recv, .send = oneself, .src = sum});
      step = {.recv = oneself, .src = in(0), .dst = scratch(0)};
    }
    if (peer == ranks - 1 || (is_own_next && rank == ranks - 1)) step.dst = result;
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
