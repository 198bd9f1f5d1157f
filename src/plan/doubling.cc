// Recursive doubling: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
// communication operations in MPICH", 2005. Ranks beyond the largest power of two add their vector
// to a partner's first and get the result from it last.
#include <bit>

#include "src/plan/algorithms.h"
#include "src/plan/fuse.h"

namespace accl {

Program doubling_all_reduce(Rank rank, int ranks) {
  Program program;
  Lane& lane = program.lanes.emplace_back();
  const int paired = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  if (rank >= paired) {
    const int16_t partner = program.port(rank - paired, 0);
    lane.push_back({.send = partner, .src = in(0)});
    lane.push_back({.recv = partner, .dst = out(0)});
    return program;
  }
  Loc sum = in(0);
  int stores = 0;
  // The sum moves to another place with each step: where it lay, the peer may still be reading it.
  const auto add = [&](Rank peer, bool last) {
    const int16_t port = program.port(peer, 0);
    Loc source = sum;
    source.left = rank < peer;  // all ranks add in the same order
    sum = last ? out(0) : scratch(stores++ % 2);
    Loc target = sum;
    target.final_value = last;
    lane.push_back({.recv = port, .src = source, .dst = target});
  };
  const bool has_extra = rank + paired < ranks;
  if (has_extra) add(rank + paired, paired == 1);
  for (int distance = 1; distance < paired; distance *= 2) {
    const Rank peer = rank ^ distance;
    lane.push_back({.send = program.port(peer, 0), .src = sum});
    add(peer, 2 * distance == paired);
  }
  if (ranks == 1) {
    Loc target = out(0);
    target.final_value = 1;
    lane.push_back({.src = in(0), .dst = target});
  }
  if (has_extra) lane.push_back({.send = program.port(rank + paired, 0), .src = out(0)});
  fuse(program);
  return program;
}

}  // namespace accl
