#include "src/bootstrap/rank_list.h"

#include <cstddef>

namespace accl {

std::string describe_ranks(const std::vector<Rank>& ranks) {
  constexpr int kMaxRuns = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  int runs = 0;
  for (size_t i = 0; i < ranks.size(); ++runs) {
    if (runs == kMaxRuns) return text + ", ...";
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (runs > 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (last == i + 1) text += ", " + std::to_string(ranks[last]);
    if (last > i + 1) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace accl
