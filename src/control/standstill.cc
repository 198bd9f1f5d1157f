#include "src/control/standstill.h"

namespace accl {

bool Standstill::observe(const Board& board, uint64_t now_ns) {
  bool moved = false;
  bool all_have_looked = true;
  for (size_t i = 0; i < seen_.size(); ++i) {
    const auto [mark, looks] = board.wait_of(static_cast<Rank>(i));
    moved = moved || mark == 0 || mark != seen_[i].mark;
    seen_[i].mark = mark;
    all_have_looked = all_have_looked && looks - seen_[i].looks >= kLooks;
  }
  if (!moved) return all_have_looked && now_ns - since_ns_ >= kNs;
  // Looks count from here on, for everybody: those before tell nothing of this wait.
  for (size_t i = 0; i < seen_.size(); ++i) {
    seen_[i].looks = board.wait_of(static_cast<Rank>(i)).second;
  }
  since_ns_ = now_ns;
  return false;
}

}  // namespace accl
