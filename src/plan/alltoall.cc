#include "src/plan/algorithms.h"
#include "src/plan/fuse.h"

namespace accl {

Program all_to_all(Rank rank, int ranks) {
  Program program;
  program.in_chunks = program.out_chunks = ranks;
  program.in_layout = program.out_layout = Layout::kBlocks;
  Lane& lane = program.lanes.emplace_back();
  // The order of direct_spread, for its reasons; the own block is copied while messages travel.
  for (int distance = 1; distance < ranks; ++distance) {
    const Rank peer = (rank + distance) % ranks;
    lane.push_back({.send = program.port(peer, 0), .src = in(peer)});
  }
  lane.push_back({.src = in(rank), .dst = out(rank)});
  for (int distance = 1; distance < ranks; ++distance) {
    const Rank peer = (rank + ranks - distance) % ranks;
    lane.push_back({.recv = program.port(peer, 0), .dst = out(peer)});
  }
  fuse(program);
  return program;
}

}  // namespace accl
