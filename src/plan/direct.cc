#include "src/plan/algorithms.h"

namespace accl {

Spread direct_spread(Rank rank, int ranks) {
  Spread spread(ranks);
  // All sends before the first receive: a rank that shares its core does everything that needs no
  // peer in one go. Each starts with its own neighbour, so that nobody is everybody's first.
  for (int distance = 1; distance < ranks; ++distance) spread.send(rank + distance, rank);
  for (int distance = 1; distance < ranks; ++distance) {
    spread.recv(rank - distance, rank - distance);
  }
  return spread;
}

}  // namespace accl
