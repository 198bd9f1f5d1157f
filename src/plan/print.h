// Programs as people and as tools read them.
//
// Pure functions over values; any thread.
#pragma once

#include <cstddef>
#include <string>

#include "src/plan/algorithms.h"
#include "src/plan/program.h"

namespace accl {

/// What one rank's program does in a call of one round.
struct Totals {
  int steps = 0;
  int messages = 0;       ///< sent to others
  size_t bytes_sent = 0;  ///< in them
  bool operator==(const Totals&) const = default;
};

/// Of the program of `rank`. `size` is that of the vector, or of one rank's block where the program
/// has blocks; in bytes, or in any other unit.
Totals totals(const Program& program, Rank rank, size_t size);

/// Several lines: what the program has, then every step as `to_string` writes it.
std::string print_table(const Program& program, const ProgramSpec& spec);

/// One JSON object without a line end: {collective, algorithm, ranks, rank, root, groups, in, out,
/// scratch_chunks, streams, lanes: [[{recv, src, dst, send}]]}; absent parts of a step are left
/// out.
std::string print_json(const Program& program, const ProgramSpec& spec);

}  // namespace accl
