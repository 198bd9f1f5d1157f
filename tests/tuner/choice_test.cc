// The choice of a plan: pure, the same on all ranks, and what a forced algorithm means.
#include "src/tuner/choice.h"

#include <gtest/gtest.h>

namespace accl {
namespace {

constexpr Collective kAll[] = {Collective::kAllReduce,     Collective::kAllGather,
                               Collective::kReduceScatter, Collective::kBroadcast,
                               Collective::kReduce,        Collective::kAllToAll};

TEST(Choice, SizeClasses) {
  EXPECT_EQ(size_class(0), 0);
  EXPECT_EQ(size_class(1), 1);
  EXPECT_EQ(size_class(4095), 12);
  EXPECT_EQ(size_class(4096), 13);
  EXPECT_EQ(size_class(~size_t{0}), kSizeClasses - 1);
}

TEST(Choice, FitsTheCollective) {
  for (const Collective collective : kAll) {
    for (const int ranks : {1, 2, 3, 8, 16, 17, 64, 1000}) {
      for (const bool oversubscribed : {false, true}) {
        for (size_t bytes = 0; bytes < size_t{1} << 40; bytes = 2 * bytes + 1) {
          const Choice choice = choose({.collective = collective,
                                        .bytes = bytes,
                                        .ranks = ranks,
                                        .oversubscribed = oversubscribed});
          EXPECT_TRUE(supports(choice.algorithm, collective));
          EXPECT_GE(choice.channels, 1);
          EXPECT_GE(choice.chunk_bytes, std::min<size_t>(bytes, 4096));
        }
      }
    }
  }
}

TEST(Choice, AForcedAlgorithmIsTaken) {
  for (const Collective collective : kAll) {
    for (int i = 0; i < kAlgorithms; i++) {
      const auto named = static_cast<Algorithm>(i);
      const Choice choice =
          choose({.collective = collective, .bytes = 1 << 20, .ranks = 8, .forced = named});
      const Algorithm meant = forced_for(named, collective);
      if (supports(meant, collective)) {
        EXPECT_EQ(choice.algorithm, meant);
      } else {
        EXPECT_TRUE(supports(choice.algorithm, collective));
      }
    }
  }
}

TEST(Choice, RingIsNcclsRing) {
  EXPECT_EQ(forced_for(Algorithm::kRing, Collective::kAllReduce), Algorithm::kRing);
  EXPECT_EQ(forced_for(Algorithm::kRing, Collective::kBroadcast), Algorithm::kChain);
  EXPECT_EQ(forced_for(Algorithm::kRing, Collective::kReduce), Algorithm::kChain);
  EXPECT_EQ(forced_for(Algorithm::kTree, Collective::kAllToAll), Algorithm::kDirect);
  EXPECT_EQ(forced_for(Algorithm::kTree, Collective::kAllGather), Algorithm::kTree);
}

}  // namespace
}  // namespace accl
