// Groups of neighbouring ranks, as equal as can be: the slow links between groups carry each chunk
// once per group and all members share the work (M. Cho et al., "BlueConnect", 2019).
#include <algorithm>

#include "src/plan/algorithms.h"

namespace accl {
namespace {

struct Group {
  int first = 0;
  int size = 0;
  Rank member(int place) const { return first + place % size; }
};

Group group_number(int number, int ranks, int groups) {
  const Range range = chunk_range(static_cast<size_t>(ranks), groups, number);
  return {static_cast<int>(range.first), static_cast<int>(range.count)};
}

int group_of(Rank rank, int ranks, int groups) {
  const int large = ranks % groups;  // the first groups have one rank more
  const int size = ranks / groups;
  if (rank < large * (size + 1)) return rank / (size + 1);
  return large + (rank - large * (size + 1)) / size;
}

}  // namespace

Spread hierarchical_spread(Rank rank, int ranks, int groups) {
  Spread spread(ranks);
  const int mine = group_of(rank, ranks, groups);
  const Group here = group_number(mine, ranks, groups);
  const int place = rank - here.first;
  // Between groups: to the same place of each; a larger group's last place shares a smaller's
  // first.
  for (int distance = 1; distance < groups; ++distance) {
    const Group there = group_number((mine + distance) % groups, ranks, groups);
    spread.send(there.member(place), rank);
  }
  for (int distance = 1; distance < groups; ++distance) {
    const Group there = group_number((mine + groups - distance) % groups, ranks, groups);
    for (int i = place; i < there.size; i += here.size) {
      spread.recv(there.first + i, there.first + i);
    }
  }
  // Within the group, one chunk per member and turn, so that nobody needs room for two.
  for (int distance = 0; distance < groups; ++distance) {
    const Group there = group_number((mine + groups - distance) % groups, ranks, groups);
    for (int turn = 0; turn < there.size; turn += here.size) {
      for (int j = 1; j < here.size && turn + place < there.size; ++j) {
        spread.send(here.member(place + j), there.first + turn + place);
      }
      for (int j = 1; j < here.size; ++j) {
        const int peer_place = (place + here.size - j) % here.size;
        if (turn + peer_place >= there.size) continue;
        spread.recv(here.first + peer_place, there.first + turn + peer_place);
      }
    }
  }
  return spread;
}

Spread hierarchical_tree_spread(Rank rank, int ranks, int groups, Rank root) {
  Spread spread(ranks);
  const int mine = group_of(rank, ranks, groups);
  const int top = group_of(root, ranks, groups);
  const Group here = group_number(mine, ranks, groups);
  const int root_place = root - group_number(top, ranks, groups).first;
  const Rank leader = here.member(root_place);
  if (rank != leader) {
    spread.recv(leader, 0);
    return spread;
  }
  if (rank != root) spread.recv(root, 0);
  for (int distance = 1; rank == root && distance < groups; ++distance) {
    spread.send(group_number((mine + distance) % groups, ranks, groups).member(root_place), 0);
  }
  for (int j = 1; j < here.size; ++j) spread.send(here.member(rank - here.first + j), 0);
  return spread;
}

}  // namespace accl
