#include "src/plan/algorithms.h"

namespace accl {

Spread chain_spread(Rank rank, int ranks, Rank root) {
  Spread spread(ranks);
  const int place = (rank - root + ranks) % ranks;
  if (place > 0) spread.recv(rank - 1, 0);
  if (place < ranks - 1) spread.send(rank + 1, 0);
  return spread;
}

}  // namespace accl
