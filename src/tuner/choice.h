// Which plan a call gets: a pure function of values that all ranks share, so that all ranks choose
// alike without talking. Any thread.
#pragma once

#include <cstddef>
#include <optional>

#include "src/base/type.h"
#include "src/plan/algorithms.h"

namespace accl {

/// What the choice depends on. `bytes` is the size of the call: of the vector (AllReduce,
/// Broadcast, Reduce) or of one rank's block (AllGather, ReduceScatter, AlltoAll).
struct Situation {
  Collective collective = Collective::kAllReduce;
  size_t bytes = 0;
  int ranks = 1;
  bool oversubscribed =
      false;                 ///< more ranks than cores: a waiting rank keeps another from running
  int hosts = 1;             ///< that the ranks lie on
  bool host_groups = false;  ///< they are the groups of a hierarchical program (Hosts::are_groups)
  std::optional<Algorithm> forced;
};

struct Choice {
  Algorithm algorithm = Algorithm::kDirect;
  int channels = 1;        ///< copies of the program that work on alternating rounds
  size_t chunk_bytes = 0;  ///< largest message
  int groups = 0;          ///< of a hierarchical program; 0: its default
};

/// Calls of one size class get the same choice: class 0 is 0 bytes, class k is [2^(k-1), 2^k).
int size_class(size_t bytes);
inline constexpr int kSizeClasses = 65;

/// What NCCL_ALGO means for a collective: NCCL's ring of Broadcast and Reduce is our chain, and its
/// AlltoAll takes no choice. The result may still be unfit (`supports`).
Algorithm forced_for(Algorithm named, Collective collective);

/// The plan for a call. A forced algorithm that cannot do the collective is left out of account;
/// callers say so where people read it.
Choice choose(const Situation& situation);

}  // namespace accl
