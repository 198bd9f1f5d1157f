#include "src/plan/algorithms.h"

namespace accl {
namespace {

// The lane of calls to or from `port`; an empty one when this is the first. Lanes are few.
Lane& lane_for(Program& program, int16_t port, bool send) {
  for (Lane& lane : program.lanes) {
    if (lane.empty()) return lane;
    if ((send ? lane.front().send : lane.front().recv) == port) return lane;
  }
  return program.lanes.emplace_back();
}

}  // namespace

void point_to_point(std::span<const Transfer> transfers, Program& program) {
  program.in_chunks = program.out_chunks = static_cast<int>(transfers.size());
  program.in_layout = program.out_layout = Layout::kOwn;
  program.ports.clear();
  for (Lane& lane : program.lanes) lane.clear();
  int chunk = 0;
  for (const Transfer& transfer : transfers) {
    const int16_t port = program.port(transfer.peer, 0);
    lane_for(program, port, transfer.send)
        .push_back(transfer.send ? Step{.send = port, .src = in(chunk)}
                                 : Step{.recv = port, .dst = out(chunk)});
    ++chunk;
  }
}

Program point_to_point(std::span<const Transfer> transfers) {
  Program program;
  point_to_point(transfers, program);
  return program;
}

}  // namespace accl
