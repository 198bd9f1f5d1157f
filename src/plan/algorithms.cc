#include "src/plan/algorithms.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "src/plan/lower.h"

namespace accl {
namespace {

constexpr std::array<std::string_view, kAlgorithms> kNames = {
    "ring", "tree", "double-tree", "chain", "pat", "direct", "doubling", "flat", "hierarchical"};

// Ports are numbered in 16 bits, and direct programs have two for each peer.
constexpr int kMaxRanks = std::numeric_limits<int16_t>::max() / 2;

std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

int groups_of(const ProgramSpec& spec) {
  return spec.groups > 0 ? spec.groups : default_groups(spec.ranks);
}

Program make_all_reduce(const ProgramSpec& spec) {
  const Rank rank = spec.rank;
  const int ranks = spec.ranks;
  switch (spec.algorithm) {
    case Algorithm::kTree:
      return lower_all_reduce(std::array{tree_spread(rank, ranks, 0)});
    case Algorithm::kDoubleTree:
      return lower_all_reduce(
          std::array{double_tree_spread(rank, ranks, 0), double_tree_spread(rank, ranks, 1)});
    case Algorithm::kDoubling:
      return doubling_all_reduce(rank, ranks);
    case Algorithm::kFlat:
      return flat_all_reduce(rank, ranks);
    case Algorithm::kHierarchical: {
      const Spread spread = hierarchical_spread(rank, ranks, groups_of(spec));
      return lower_all_reduce(rank, spread, spread);
    }
    case Algorithm::kDirect: {
      const Spread spread = direct_spread(rank, ranks);
      return lower_all_reduce(rank, spread, spread);
    }
    default:
      return lower_all_reduce(rank, ring_spread(rank, ranks, -1), ring_spread(rank, ranks, +1));
  }
}

/// The spread of AllGather and ReduceScatter. A ring read backwards turns its direction.
Spread block_spread(const ProgramSpec& spec, int ring_direction) {
  switch (spec.algorithm) {
    case Algorithm::kPat:
      return pat_spread(spec.rank, spec.ranks);
    case Algorithm::kDirect:
      return direct_spread(spec.rank, spec.ranks);
    case Algorithm::kHierarchical:
      return hierarchical_spread(spec.rank, spec.ranks, groups_of(spec));
    default:
      return ring_spread(spec.rank, spec.ranks, ring_direction);
  }
}

/// The trees of Broadcast and Reduce.
std::vector<Spread> rooted_spreads(const ProgramSpec& spec) {
  switch (spec.algorithm) {
    case Algorithm::kTree:
      return {tree_spread(spec.rank, spec.ranks, spec.root)};
    case Algorithm::kDoubleTree:
      return {rooted_double_tree_spread(spec.rank, spec.ranks, spec.root, 0),
              rooted_double_tree_spread(spec.rank, spec.ranks, spec.root, 1)};
    case Algorithm::kFlat:
      return {flat_spread(spec.rank, spec.ranks, spec.root)};
    case Algorithm::kHierarchical:
      return {hierarchical_tree_spread(spec.rank, spec.ranks, groups_of(spec), spec.root)};
    default:
      return {chain_spread(spec.rank, spec.ranks, spec.root)};
  }
}

Status check(const ProgramSpec& spec) {
  if (spec.ranks < 1 || spec.ranks > kMaxRanks) {
    return invalid_argument(
        fmt::format("a program for {} ranks: must be 1 to {}", spec.ranks, kMaxRanks));
  }
  if (spec.rank < 0 || spec.rank >= spec.ranks) {
    return invalid_argument(
        fmt::format("rank {} of {}: must be 0 to {}", spec.rank, spec.ranks, spec.ranks - 1));
  }
  if (spec.root < 0 || spec.root >= spec.ranks) {
    return invalid_argument(
        fmt::format("root {} of {} ranks: must be 0 to {}", spec.root, spec.ranks, spec.ranks - 1));
  }
  if (spec.groups < 0 || spec.groups > spec.ranks) {
    return invalid_argument(fmt::format("{} groups of {} ranks: must be 1 to {}, or 0 to choose",
                                        spec.groups, spec.ranks, spec.ranks));
  }
  if (!supports(spec.algorithm, spec.collective)) {
    return invalid_argument(fmt::format("algorithm {} cannot do {}", name_of(spec.algorithm),
                                        name_of(spec.collective)));
  }
  return {};
}

}  // namespace

std::string_view name_of(Algorithm algorithm) { return kNames[static_cast<size_t>(algorithm)]; }

std::optional<Algorithm> algorithm_named(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (plain(kNames[i]) == plain(name)) return static_cast<Algorithm>(i);
  }
  return std::nullopt;
}

int default_groups(int ranks) {
  int root = 1;
  while ((root + 1) * (root + 1) <= ranks) ++root;
  for (int groups = root; 2 * groups > root; --groups) {
    if (ranks % groups == 0) return groups;
  }
  return root;
}

bool supports(Algorithm algorithm, Collective collective) {
  const bool rooted = collective == Collective::kBroadcast || collective == Collective::kReduce;
  const bool blocks =
      collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  const bool all_reduce = collective == Collective::kAllReduce;
  switch (algorithm) {
    case Algorithm::kRing:
      return all_reduce || blocks;
    case Algorithm::kTree:
    case Algorithm::kDoubleTree:
    case Algorithm::kFlat:
      return all_reduce || rooted;
    case Algorithm::kChain:
      return rooted;
    case Algorithm::kPat:
      return blocks;
    case Algorithm::kDirect:
      return all_reduce || blocks || collective == Collective::kAllToAll;
    case Algorithm::kDoubling:
      return all_reduce;
    case Algorithm::kHierarchical:
      return all_reduce || blocks || rooted;
  }
  return false;
}

bool needs_copies(const ProgramSpec& spec, bool in_place) {
  return in_place && spec.ranks == 2 && spec.collective == Collective::kAllReduce &&
         (spec.algorithm == Algorithm::kDoubling || spec.algorithm == Algorithm::kFlat);
}

Result<Program> make_program(const ProgramSpec& spec) {
  ACCL_TRY(check(spec));
  const int streams = spec.algorithm == Algorithm::kPat ? kPatStreams : 2;
  switch (spec.collective) {
    case Collective::kAllReduce:
      return make_all_reduce(spec);
    case Collective::kAllGather:
      return lower_all_gather(spec.rank, block_spread(spec, +1), streams);
    case Collective::kReduceScatter:
      return lower_reduce_scatter(spec.rank, block_spread(spec, -1), streams);
    case Collective::kBroadcast:
      return lower_broadcast(rooted_spreads(spec));
    case Collective::kReduce:
      if (spec.algorithm == Algorithm::kFlat) return flat_reduce(spec.rank, spec.ranks, spec.root);
      return lower_reduce(rooted_spreads(spec));
    case Collective::kAllToAll:
      return all_to_all(spec.rank, spec.ranks);
    case Collective::kPointToPoint:
      break;
  }
  return invalid_argument("SendRecv has no program by algorithm");
}

}  // namespace accl
