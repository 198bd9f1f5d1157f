#include "src/comm/hosts.h"

#include <algorithm>

#include "src/plan/program.h"

namespace accl {

Hosts group_hosts(const std::vector<Token>& keys) {
  Hosts hosts;
  std::vector<Token> seen;  // by host
  for (size_t i = 0; i < keys.size(); i++) {
    const auto known = std::find(seen.begin(), seen.end(), keys[i]);
    const auto host = static_cast<size_t>(known - seen.begin());
    if (known == seen.end()) {
      seen.push_back(keys[i]);
      hosts.ranks.emplace_back();
    }
    hosts.of.push_back(static_cast<int>(host));
    hosts.place.push_back(static_cast<Rank>(hosts.ranks[host].size()));
    hosts.ranks[host].push_back(static_cast<Rank>(i));
  }
  return hosts;
}

bool Hosts::are_groups() const {
  for (int i = 0; i < count(); i++) {
    const Range group = chunk_range(of.size(), count(), i);
    const std::vector<Rank>& here = ranks[static_cast<size_t>(i)];
    if (here.size() != group.count || static_cast<size_t>(here.front()) != group.first ||
        static_cast<size_t>(here.back()) != group.first + group.count - 1) {
      return false;
    }
  }
  return true;
}

}  // namespace accl
