#include "src/control/standstill.h"

#include <algorithm>

namespace accl {

bool Standstill::observe(const Board& board, uint64_t now_ns) {
  bool all_have_looked = true;
  for (size_t i = 0; i < seen_.size(); ++i) {
    const auto [mark, looks] = board.wait_of(static_cast<Rank>(i));
    Seen& seen = seen_[i];
    if (mark == 0 || mark != seen.mark) {
      seen = {mark, looks};
      since_ns_ = now_ns;
    }
    all_have_looked = all_have_looked && mark != 0 && looks - seen.looks >= kLooks;
  }
  return all_have_looked && now_ns - since_ns_ >= kNs;
}

}  // namespace accl
