// The algorithms, by name, and the one function that makes a program of one.
//
// To write another one see docs/schedules.md. Pure functions over values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "src/base/status.h"
#include "src/base/type.h"
#include "src/plan/program.h"
#include "src/plan/spread.h"

namespace accl {

enum class Algorithm : uint8_t {
  kRing,          ///< around a ring: fewest bytes, n - 1 hops a phase
  kTree,          ///< one binary tree
  kDoubleTree,    ///< two binary trees, half of the data each: nobody is an inner node of both
  kChain,         ///< a pipeline along the ranks
  kPat,           ///< parallel aggregated trees: Bruck's distances, largest first
  kDirect,        ///< everybody to everybody, each owner reduces its chunk
  kDoubling,      ///< recursive doubling of whole vectors
  kFlat,          ///< one hop, everybody sums everything in rank order
  kHierarchical,  ///< groups: between equal places of all groups, then within each group
};
inline constexpr int kAlgorithms = 9;

/// "ring", "tree", "double-tree", "chain", "pat", "direct", "doubling", "flat", "hierarchical".
std::string_view name_of(Algorithm algorithm);
/// The reverse, whatever the case; "_" and "-" are equal and may be left out.
std::optional<Algorithm> algorithm_named(std::string_view name);

/// Everything that a program depends on.
struct ProgramSpec {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  int ranks = 1;
  Rank rank = 0;
  Rank root = 0;   ///< Broadcast, Reduce
  int groups = 0;  ///< kHierarchical: how many groups the ranks form; 0: `default_groups`
  bool operator==(const ProgramSpec&) const = default;
};

/// Near the square root, and such that the groups are equal if that is possible.
int default_groups(int ranks);

/// True if `make_program` can combine them.
bool supports(Algorithm algorithm, Collective collective);

/// True for the exchanges of two ranks whose only step in between is to overwrite, in place, what
/// the other rank is still to read. No order of steps makes them right by reference; they are for
/// small messages, which are always copied. The proof demands that the checker says so.
bool needs_copies(const ProgramSpec& spec, bool in_place);

/// The program of one rank. Fails with kInvalidArgument and a text that names the value when a
/// number is out of range or the algorithm cannot do the collective.
Result<Program> make_program(const ProgramSpec& spec);

// What follows are the algorithms themselves, for make_program and tests. 0 <= rank < ranks.

/// Chunk i starts at rank i and ends everywhere. `direction` +1 sends to rank + 1, -1 to rank - 1.
Spread ring_spread(Rank rank, int ranks, int direction);
/// To be lowered with kPatStreams streams; what it sends at one distance it sends at once.
Spread pat_spread(Rank rank, int ranks);
inline constexpr int kPatStreams = 8;
Spread direct_spread(Rank rank, int ranks);
Spread hierarchical_spread(Rank rank, int ranks, int groups);

/// Chunk `chunk` starts at `root` and ends everywhere.
Spread tree_spread(Rank rank, int ranks, Rank root, int chunk = 0);
Spread chain_spread(Rank rank, int ranks, Rank root);
Spread flat_spread(Rank rank, int ranks, Rank root);
Spread hierarchical_tree_spread(Rank rank, int ranks, int groups, Rank root);
/// One (`tree` 0 or 1, which is also its chunk) of two trees such that no rank is an inner node of
/// both; their roots are chosen by the shape.
Spread double_tree_spread(Rank rank, int ranks, int tree);
/// The same two trees over everybody but `root`, which sends a chunk to the root of each.
Spread rooted_double_tree_spread(Rank rank, int ranks, Rank root, int tree);

// Algorithms that are no spreads.

Program doubling_all_reduce(Rank rank, int ranks);
Program flat_all_reduce(Rank rank, int ranks);
Program flat_reduce(Rank rank, int ranks, Rank root);
Program all_to_all(Rank rank, int ranks);

/// One call of a group: ncclSend or ncclRecv. `peer` may be the rank itself.
struct Transfer {
  Rank peer = 0;
  bool send = false;
};
/// A lane per peer and direction, in the order of the calls between them. Transfer i moves chunk i:
/// of `in` if it sends, of `out` if it receives, whose addresses and sizes are the caller's table.
Program point_to_point(std::span<const Transfer> transfers);
/// The same, built in the memory of an older program; lanes left over from it are empty.
void point_to_point(std::span<const Transfer> transfers, Program& program);

}  // namespace accl
