// Correct programs made wrong in one known way each: the test of the checker.
//
// Pure functions over values; any thread.
#pragma once

#include <string>
#include <vector>

#include "src/plan/algorithms.h"
#include "src/plan/verify.h"

namespace accl {

/// A set of programs with one defect, and the claim that it breaks.
struct PlantedBug {
  Bug kind = Bug::kMalformed;
  ProgramSpec spec;  ///< of the correct programs
  std::vector<Program> programs;
  bool in_place = false;
  bool by_reference = false;
  bool waits = true;
  bool rank_order = false;

  /// Refers to `programs`.
  Claim claim() const;
  /// "lost message in ring AllReduce, 4 ranks".
  std::string name() const;
};

/// Every kind but kMalformed, each in at least three algorithms (as many as the kind has a place
/// in).
std::vector<PlantedBug> planted_bugs();

/// The programs of all ranks, as `make_program` gives them; empty if it refuses one.
std::vector<Program> programs_of(ProgramSpec spec);

}  // namespace accl
