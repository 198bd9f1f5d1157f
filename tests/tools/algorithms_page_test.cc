#include "src/tools/algorithms_page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "src/plan/algorithms.h"

namespace accl {
namespace {

TEST(AlgorithmsPage, IsWhatTheProgramsSay) {
  std::ifstream file(ALGORITHMS_PAGE);
  ASSERT_TRUE(file) << "docs/algorithms.md is missing";
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), algorithms_page())
      << "write it anew: accl_info algorithms > docs/algorithms.md";
}

TEST(AlgorithmsPage, HasEveryPair) {
  std::set<std::pair<Collective, Algorithm>> shown;
  for (const Formula& formula : formulas()) {
    EXPECT_TRUE(supports(formula.algorithm, formula.collective));
    EXPECT_TRUE(shown.insert({formula.collective, formula.algorithm}).second);
  }
  size_t pairs = 0;
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int c = 0; c < kCollectives; ++c) {
      if (supports(static_cast<Algorithm>(a), static_cast<Collective>(c))) ++pairs;
    }
  }
  EXPECT_EQ(shown.size(), pairs);
}

TEST(AlgorithmsPage, FormulasHold) {
  for (const Formula& formula : formulas()) {
    for (int ranks = 4; ranks <= 20; ++ranks) {
      const bool is_uneven =
          formula.algorithm == Algorithm::kHierarchical && ranks % default_groups(ranks) != 0;
      if (is_uneven) continue;
      const Cost cost = measure(
          {.collective = formula.collective, .algorithm = formula.algorithm, .ranks = ranks});
      EXPECT_EQ(cost.messages, formula.messages(ranks))
          << name_of(formula.collective) << " " << name_of(formula.algorithm) << " n=" << ranks;
      EXPECT_NEAR(cost.sizes_sent, formula.sizes(ranks), 1e-4)
          << name_of(formula.collective) << " " << name_of(formula.algorithm) << " n=" << ranks;
    }
  }
}

TEST(AlgorithmsPage, CountsHops) {
  const auto hops = [](Algorithm algorithm, int ranks) {
    return measure({.algorithm = algorithm, .ranks = ranks}).hops;
  };
  EXPECT_EQ(hops(Algorithm::kRing, 8), 14);
  EXPECT_EQ(hops(Algorithm::kDirect, 8), 2);
  EXPECT_EQ(hops(Algorithm::kDoubling, 8), 3);
  EXPECT_EQ(hops(Algorithm::kFlat, 8), 1);  // a message to oneself is no hop
  EXPECT_EQ(hops(Algorithm::kRing, 1), 0);
}

}  // namespace
}  // namespace accl
