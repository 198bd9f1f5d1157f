// docs/algorithms.md, measured from the programs.
//
// Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "src/plan/algorithms.h"

namespace accl {

/// The largest values of any rank's program; bytes in units of one `size` (vector or block).
struct Cost {
  int lanes = 0;
  int steps = 0;
  int messages = 0;
  double sizes_sent = 0;
  int hops = 0;  ///< messages in the longest row of which each waits for the one before
  bool operator==(const Cost&) const = default;
};
Cost measure(ProgramSpec spec);

/// A claim of the page about messages and bytes, which the test compares with `measure`. For 4
/// ranks or more; of the hierarchical algorithm, where groups are equal.
struct Formula {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  const char* messages_text = "";
  int (*messages)(int ranks) = nullptr;
  const char* sizes_text = "";
  double (*sizes)(int ranks) = nullptr;
};
const std::vector<Formula>& formulas();

/// The whole page, in Markdown.
std::string algorithms_page();

}  // namespace accl
