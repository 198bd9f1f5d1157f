// S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", 2025.
#include <algorithm>
#include <bit>

#include "src/plan/algorithms.h"

namespace accl {

Spread pat_spread(Rank rank, int ranks) {
  Spread spread(ranks);
  // Far distances first: few chunks travel far, many travel near. The messages of one distance do
  // not depend on one another; as many as there are streams for are sent before the first is
  // awaited.
  const int top = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
  for (int distance = top / 2; distance >= 1; distance /= 2) {
    const int window = 2 * distance * kPatStreams;
    for (int first = 0; first + distance < ranks; first += window) {
      const int end = std::min(first + window, ranks - distance);
      for (int i = first; i < end; i += 2 * distance) spread.send(rank + distance, rank - i);
      for (int i = first; i < end; i += 2 * distance) {
        spread.recv(rank - distance, rank - distance - i);
      }
    }
  }
  return spread;
}

}  // namespace accl
