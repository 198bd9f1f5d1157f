// S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", 2025.
#include <bit>

#include "src/plan/algorithms.h"

namespace accl {

Spread pat_spread(Rank rank, int ranks) {
  Spread spread(ranks);
  // Far distances first: few chunks travel far, many travel near.
  const int top = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
  for (int distance = top / 2; distance >= 1; distance /= 2) {
    for (int i = 0; i + distance < ranks; i += 2 * distance) {
      spread.send(rank + distance, rank - i);
      spread.recv(rank - distance, rank - distance - i);
    }
  }
  return spread;
}

}  // namespace accl
