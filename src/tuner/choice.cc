#include "src/tuner/choice.h"

#include <algorithm>
#include <bit>

namespace accl {
namespace {

// A message up to this size travels in the cache lines of its stream's FIFO.
constexpr size_t kSmall = 4096;
// A quarter of a core's L2 cache or less; below 64 KiB hand-overs show (256 KiB and more, 2 ranks).
constexpr size_t kChunk = 128 << 10;
// Beyond this many ranks, talking to everybody at once costs more than a neighbour's pipeline wins.
constexpr int kDirectRanks = 16;

// Several hosts with several ranks each: the slow links carry each chunk once per host.
bool between_hosts(const Situation& s) {
  return s.hosts > 1 && s.hosts < s.ranks && s.host_groups && s.bytes > kSmall &&
         supports(Algorithm::kHierarchical, s.collective);
}

Algorithm best_algorithm(const Situation& s) {
  if (between_hosts(s)) return Algorithm::kHierarchical;
  const bool small = s.bytes <= kSmall;
  switch (s.collective) {
    case Collective::kAllReduce:
      if (small && s.oversubscribed && s.ranks <= kDirectRanks) return Algorithm::kFlat;
      if (small) return Algorithm::kDoubling;
      return s.ranks <= kDirectRanks ? Algorithm::kDirect : Algorithm::kRing;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      if (s.ranks <= kDirectRanks) return Algorithm::kDirect;
      return small ? Algorithm::kPat : Algorithm::kRing;
    case Collective::kBroadcast:
    case Collective::kReduce:
      if (small) return s.ranks <= kDirectRanks ? Algorithm::kFlat : Algorithm::kTree;
      return Algorithm::kChain;
    case Collective::kAllToAll:
    case Collective::kPointToPoint:
      break;
  }
  return Algorithm::kDirect;
}

// A second round in flight hides the hand-over between ranks; a third costs more cache than it
// wins.
int channels_for(const Situation& s) { return s.bytes <= kSmall ? 1 : 2; }

}  // namespace

int size_class(size_t bytes) { return static_cast<int>(std::bit_width(bytes)); }

Algorithm forced_for(Algorithm named, Collective collective) {
  const bool rooted = collective == Collective::kBroadcast || collective == Collective::kReduce;
  if (named == Algorithm::kRing && rooted) return Algorithm::kChain;
  return collective == Collective::kAllToAll ? Algorithm::kDirect : named;
}

Choice choose(const Situation& s) {
  Choice choice;
  const Algorithm forced = s.forced ? forced_for(*s.forced, s.collective) : best_algorithm(s);
  choice.algorithm = supports(forced, s.collective) ? forced : best_algorithm(s);
  if (s.hosts > 1 && s.hosts < s.ranks && s.host_groups) choice.groups = s.hosts;
  choice.channels = channels_for(s);
  choice.chunk_bytes = s.bytes <= kSmall ? kSmall : kChunk;
  return choice;
}

}  // namespace accl
