// P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// 2009.
#include "src/plan/algorithms.h"

namespace accl {

Spread ring_spread(Rank rank, int ranks, int direction) {
  Spread spread(ranks);
  for (int hop = 0; hop < ranks - 1; ++hop) {
    spread.send(rank + direction, rank - direction * hop);
    spread.recv(rank - direction, rank - direction * (hop + 1));
  }
  return spread;
}

}  // namespace accl
