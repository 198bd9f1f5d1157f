// Ranks grouped by the memory they share.
#include "src/comm/hosts.h"

#include <gtest/gtest.h>

namespace accl {
namespace {

Hosts of(const std::vector<int>& names) {
  std::vector<Token> keys;
  for (const int name : names) keys.push_back({static_cast<uint64_t>(name), 7});
  return group_hosts(keys);
}

TEST(Hosts, NumberedByFirstRank) {
  const Hosts hosts = of({5, 5, 3, 5, 3});
  EXPECT_EQ(hosts.count(), 2);
  EXPECT_EQ(hosts.of, (std::vector<int>{0, 0, 1, 0, 1}));
  EXPECT_EQ(hosts.place, (std::vector<Rank>{0, 1, 0, 2, 1}));
  EXPECT_EQ(hosts.ranks, (std::vector<std::vector<Rank>>{{0, 1, 3}, {2, 4}}));
  EXPECT_TRUE(hosts.same(0, 3));
  EXPECT_FALSE(hosts.same(0, 2));
  EXPECT_EQ(hosts.around(4), (std::vector<Rank>{2, 4}));
}

TEST(Hosts, BothHalvesOfAKeyCount) { EXPECT_EQ(group_hosts({{1, 2}, {1, 3}, {2, 2}}).count(), 3); }

TEST(Hosts, Groups) {
  EXPECT_TRUE(of({1}).are_groups());
  EXPECT_TRUE(of({1, 1, 2, 2}).are_groups());
  EXPECT_TRUE(of({1, 2, 3}).are_groups());
  EXPECT_TRUE(of({1, 1, 1, 2, 2}).are_groups()) << "the larger group comes first";
  EXPECT_FALSE(of({1, 1, 2, 2, 2}).are_groups());
  EXPECT_FALSE(of({1, 2, 1, 2}).are_groups());
  EXPECT_FALSE(of({1, 1, 1, 2}).are_groups());
}

}  // namespace
}  // namespace accl
