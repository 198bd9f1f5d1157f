#include "src/tools/algorithms_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <tuple>

#include "src/plan/print.h"
#include "src/tuner/choice.h"

namespace accl {
namespace {

constexpr size_t kSize = size_t{1} << 20;
constexpr int kShownRanks = 8;
constexpr int kManyRanks = 64;
constexpr size_t kLargestCall = size_t{1} << 30;

std::vector<Program> all_programs(ProgramSpec spec) {
  std::vector<Program> programs;
  for (spec.rank = 0; spec.rank < spec.ranks; ++spec.rank) {
    Result<Program> program = make_program(spec);
    if (program.ok()) programs.push_back(std::move(*program));
  }
  return programs;
}

/// Runs the lanes with unbounded streams; a lane's and a message's number is how many messages the
/// longest row before it has.
class HopCounter {
 public:
  explicit HopCounter(const std::vector<Program>& programs) {
    for (const Program& program : programs) {
      for (const Lane& lane : program.lanes) {
        lanes_.push_back({&program, &lane, static_cast<Rank>(&program - programs.data())});
      }
    }
  }

  int count() {
    for (bool moved = true; moved;) {
      moved = false;
      for (State& lane : lanes_) {
        while (advance(lane)) moved = true;
      }
    }
    int hops = 0;
    for (const State& lane : lanes_) hops = std::max(hops, lane.hops);
    return hops;
  }

 private:
  struct State {
    const Program* program = nullptr;
    const Lane* lane = nullptr;
    Rank rank = 0;
    size_t step = 0;
    int hops = 0;
  };

  bool advance(State& at) {
    if (at.step == at.lane->size()) return false;
    const Step& step = (*at.lane)[at.step];
    if (step.recv >= 0) {
      const Port& from = at.program->ports[static_cast<size_t>(step.recv)];
      std::deque<int>& messages = streams_[{from.peer, at.rank, from.stream}];
      if (messages.empty()) return false;
      at.hops = std::max(at.hops, messages.front());
      messages.pop_front();
    }
    if (step.send >= 0) {
      const Port& to = at.program->ports[static_cast<size_t>(step.send)];
      const int distance = to.peer == at.rank ? 0 : 1;
      streams_[{at.rank, to.peer, to.stream}].push_back(at.hops + distance);
    }
    ++at.step;
    return true;
  }

  std::vector<State> lanes_;
  std::map<std::tuple<Rank, Rank, int>, std::deque<int>> streams_;
};

constexpr const char* kIntroduction =
    R"(<!-- Written by `accl_info algorithms`; change the programs instead. -->
# Algorithms

Measured from the programs themselves, as the largest value of any rank. *S* is the size of the
vector (AllReduce, Broadcast, Reduce) or of one rank's block (AllGather, ReduceScatter, AlltoAll),
*n* the number of ranks. *Hops* are the messages in the longest row of which each waits for the one
before: what a short call takes. Long calls repeat the program in rounds that overlap, so that for
them the bytes count. Formulas hold for n of 4 and more; of the hierarchical algorithm, with *g*
equal groups. The last columns: which sizes *S* the tuner chooses it for, with a core for each rank.
`accl_info plan allreduce --ranks 8 --algo ring` shows a program.

)";

std::string size_text(size_t bytes) {
  for (const char* unit : {"", " KiB", " MiB"}) {
    if (bytes < 1024) return fmt::format("{}{}", bytes, unit);
    bytes /= 1024;
  }
  return fmt::format("{} GiB", bytes);
}

std::string range_text(size_t first, size_t last) {
  if (first == 1) return last == kLargestCall ? "all" : "to " + size_text(last);
  if (last == kLargestCall) return "from " + size_text(first);
  return size_text(first) + " to " + size_text(last);
}

/// For which sizes of a call between `ranks` ranks the tuner chooses the algorithm.
std::string chosen_sizes(const Formula& formula, int ranks) {
  std::string text;
  size_t first = 0;
  for (size_t bytes = 1; bytes <= kLargestCall; bytes *= 2) {
    Situation situation;
    situation.collective = formula.collective;
    situation.ranks = ranks;
    situation.bytes = bytes;
    if (choose(situation).algorithm != formula.algorithm) continue;
    if (first == 0) first = bytes;
    situation.bytes = 2 * bytes;
    if (bytes < kLargestCall && choose(situation).algorithm == formula.algorithm) continue;
    if (!text.empty()) text += ", ";
    text += range_text(first, bytes);
    first = 0;
  }
  return text.empty() ? "-" : text;
}

int two_phases(int n) { return 2 * (n - 1); }
int others(int n) { return n - 1; }
int rounds_of_doubling(int n) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)));
}
template <int kCount>
int constant(int) {
  return kCount;
}
int two_levels(int n) { return default_groups(n) + n / default_groups(n) - 2; }

double two_parts(int n) { return 2.0 * (n - 1) / n; }
/// Every message is as large as the vector or block.
template <int (*kMessages)(int)>
double whole(int n) {
  return kMessages(n);
}

constexpr const char* kTwoPhases = "2 (n - 1)";
constexpr const char* kTwoParts = "2 (n - 1) / n S";
constexpr const char* kOthers = "n - 1";
constexpr const char* kOtherSizes = "(n - 1) S";

const std::vector<Formula>& all_formulas() {
  using enum Collective;
  using enum Algorithm;
  static const std::vector<Formula> all = {
      {kAllReduce, kRing, kTwoPhases, two_phases, kTwoParts, two_parts},
      {kAllReduce, kTree, "3", constant<3>, "3 S", whole<constant<3>>},
      {kAllReduce, kDoubleTree, "4", constant<4>, "2 S", whole<constant<2>>},
      {kAllReduce, kDirect, kTwoPhases, two_phases, kTwoParts, two_parts},
      {kAllReduce, kDoubling, "log2 n, rounded up", rounds_of_doubling, "as many S",
       whole<rounds_of_doubling>},
      {kAllReduce, kFlat, kOthers, others, kOtherSizes, whole<others>},
      {kAllReduce, kHierarchical, kTwoPhases, two_phases, kTwoParts, two_parts},
      {kAllGather, kRing, kOthers, others, kOtherSizes, whole<others>},
      {kAllGather, kPat, kOthers, others, kOtherSizes, whole<others>},
      {kAllGather, kDirect, kOthers, others, kOtherSizes, whole<others>},
      {kAllGather, kHierarchical, kOthers, others, kOtherSizes, whole<others>},
      {kReduceScatter, kRing, kOthers, others, kOtherSizes, whole<others>},
      {kReduceScatter, kPat, kOthers, others, kOtherSizes, whole<others>},
      {kReduceScatter, kDirect, kOthers, others, kOtherSizes, whole<others>},
      {kReduceScatter, kHierarchical, kOthers, others, kOtherSizes, whole<others>},
      {kBroadcast, kTree, "2", constant<2>, "2 S", whole<constant<2>>},
      {kBroadcast, kDoubleTree, "2", constant<2>, "S", whole<constant<1>>},
      {kBroadcast, kChain, "1", constant<1>, "S", whole<constant<1>>},
      {kBroadcast, kFlat, kOthers, others, kOtherSizes, whole<others>},
      {kBroadcast, kHierarchical, "g + n / g - 2", two_levels, "as many S", whole<two_levels>},
      {kReduce, kTree, "1", constant<1>, "S", whole<constant<1>>},
      {kReduce, kDoubleTree, "2", constant<2>, "S", whole<constant<1>>},
      {kReduce, kChain, "1", constant<1>, "S", whole<constant<1>>},
      {kReduce, kFlat, "1", constant<1>, "S", whole<constant<1>>},
      {kReduce, kHierarchical, "1", constant<1>, "S", whole<constant<1>>},
      {kAllToAll, kDirect, kOthers, others, kOtherSizes, whole<others>},
  };
  return all;
}

}  // namespace

Cost measure(ProgramSpec spec) {
  Cost cost;
  const std::vector<Program> programs = all_programs(spec);
  // A multiple of the number of ranks has no remainder to spread over the chunks.
  const size_t size = kSize * static_cast<size_t>(spec.ranks);
  for (const Program& program : programs) {
    const Totals sum = totals(program, static_cast<Rank>(&program - programs.data()), size);
    cost.lanes = std::max(cost.lanes, static_cast<int>(program.lanes.size()));
    cost.steps = std::max(cost.steps, sum.steps);
    cost.messages = std::max(cost.messages, sum.messages);
    cost.sizes_sent =
        std::max(cost.sizes_sent, static_cast<double>(sum.bytes_sent) / static_cast<double>(size));
  }
  cost.hops = HopCounter(programs).count();
  return cost;
}

const std::vector<Formula>& formulas() { return all_formulas(); }

std::string algorithms_page() {
  std::string page = kIntroduction;
  page += fmt::format(
      "| collective | algorithm | messages sent | bytes sent | steps, n = {0} | hops, n = {0} | "
      "hops, n = {1} | chosen, n = {0} | chosen, n = {1} "
      "|\n|---|---|---|---|---|---|---|---|---|\n",
      kShownRanks, kManyRanks);
  for (const Formula& formula : formulas()) {
    ProgramSpec spec{
        .collective = formula.collective, .algorithm = formula.algorithm, .ranks = kShownRanks};
    const Cost few = measure(spec);
    spec.ranks = kManyRanks;
    page += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", name_of(formula.collective),
        name_of(formula.algorithm), formula.messages_text, formula.sizes_text, few.steps, few.hops,
        measure(spec).hops, chosen_sizes(formula, kShownRanks), chosen_sizes(formula, kManyRanks));
  }
  return page;
}

}  // namespace accl
