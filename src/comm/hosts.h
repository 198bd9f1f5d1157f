// Which ranks share memory: those of one host, unless the settings forbid it.
// Values; any thread.
#pragma once

#include <vector>

#include "src/base/memory.h"
#include "src/base/type.h"

namespace accl {

struct Hosts {
  std::vector<int> of;                   ///< by rank: the number of its host
  std::vector<Rank> place;               ///< by rank: its place among the ranks of its host
  std::vector<std::vector<Rank>> ranks;  ///< by host: its ranks, rising

  int count() const { return static_cast<int>(ranks.size()); }
  bool same(Rank a, Rank b) const {
    return of[static_cast<size_t>(a)] == of[static_cast<size_t>(b)];
  }
  const std::vector<Rank>& around(Rank rank) const {
    return ranks[static_cast<size_t>(of[static_cast<size_t>(rank)])];
  }
  /// True if every host's ranks are neighbours and the hosts are as equal as can be, the larger
  /// ones first: the groups of a hierarchical program.
  bool are_groups() const;
};

/// Ranks with equal keys share a host. Hosts are numbered by their first rank.
Hosts group_hosts(const std::vector<Token>& keys);

}  // namespace accl
