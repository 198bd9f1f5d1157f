// The full proof: the checker over every algorithm, collective, number of ranks, root and variant.
//
// Pure functions; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/plan/algorithms.h"

namespace accl {

/// What is proven: up to `max_ranks` ranks, every root up to `all_roots_to` ranks and four of them
/// above, each out of place and in place (AlltoAll has none), copied and by reference, for two
/// rounds on streams of credit 1. Hierarchies are also proven with two and with three groups.
struct ProofScope {
  int max_ranks = 64;
  int all_roots_to = 16;
};

/// The proof of one (algorithm, collective).
struct Proof {
  Algorithm algorithm = Algorithm::kRing;
  Collective collective = Collective::kAllReduce;
  int proven = 0;   ///< sets of programs (ranks x roots x variants)
  int by_copy = 0;  ///< sets that hold only when messages are copied, see `needs_copies`
  std::vector<std::string> failures;  ///< "5 ranks, root 2, in place: ..."
};

/// All pairs that `supports` allows.
std::vector<Proof> proofs_to_make();

/// Proves one of them; adds to `proof`.
void prove(const ProofScope& scope, Proof& proof);

}  // namespace accl
