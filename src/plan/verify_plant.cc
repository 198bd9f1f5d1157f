#include "src/plan/verify_plant.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace accl {
namespace {

using Programs = std::vector<Program>;
// Changes the programs; false if they have no place for this bug.
using Planter = bool (*)(Programs&);

// The last step of a rank in the middle that `fits`, in its first lane that has one.
template <class F>
bool change_step(Programs& programs, F fits_and_changes) {
  const size_t n = programs.size();
  for (size_t i = 0; i < n; i++) {
    for (Lane& lane : programs[(n / 2 + i) % n].lanes) {
      for (size_t s = lane.size(); s-- > 0;) {
        if (fits_and_changes(programs[(n / 2 + i) % n], lane, s)) return true;
      }
    }
  }
  return false;
}

void insert(Lane& lane, size_t at, const Step& step) {
  lane.insert(lane.begin() + static_cast<std::ptrdiff_t>(at), step);
}
void erase(Lane& lane, size_t at) { lane.erase(lane.begin() + static_cast<std::ptrdiff_t>(at)); }

bool lose_message(Programs& programs) {
  return change_step(programs, [](Program& p, Lane& lane, size_t s) {
    if (lane[s].send < 0) return false;
    lane[s].send = -1;
    if (lane[s].dst) return true;
    if (lane[s].recv < 0) {
      erase(lane, s);
    } else {
      lane[s].dst = scratch(p.scratch_chunks++);
    }
    return true;
  });
}

bool add_message(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    if (lane[s].send < 0) return false;
    const Loc again = lane[s].dst ? lane[s].dst : lane[s].src;
    if (!again) return false;
    insert(lane, s + 1, {.send = lane[s].send, .src = again});
    lane[s + 1].src.final_value = 0;
    return true;
  });
}

bool swap_messages(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    for (size_t t = s; t-- > 0;) {
      const bool both = lane[s].send >= 0 && lane[t].send >= 0 && lane[s].src && lane[t].src;
      if (!both || lane[s].recv >= 0 || lane[t].recv >= 0) continue;
      if (lane[s].src.same_place(lane[t].src)) continue;
      std::swap(lane[s].src, lane[t].src);
      return true;
    }
    return false;
  });
}

// The values of two received messages go to each other's place.
bool swap_received(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    if (s == 0) return false;
    Step& a = lane[s - 1];
    Step& b = lane[s];
    const bool both = a.recv >= 0 && b.recv >= 0 && !a.src && !b.src && a.dst && b.dst;
    if (!both || a.send >= 0 || b.send >= 0 || a.dst.same_place(b.dst)) return false;
    std::swap(a.recv, b.recv);
    return a.recv != b.recv;
  });
}

bool misdirect(Programs& programs) {
  const int n = static_cast<int>(programs.size());
  return change_step(programs, [n](Program& p, Lane& lane, size_t s) {
    if (lane[s].send < 0) return false;
    const Port port = p.ports[static_cast<size_t>(lane[s].send)];
    lane[s].send = p.port((port.peer + 1) % n, port.stream);
    return true;
  });
}

bool mistake_stream(Programs& programs) {
  return change_step(programs, [](Program& p, Lane& lane, size_t s) {
    if (lane[s].send < 0) return false;
    const Port port = p.ports[static_cast<size_t>(lane[s].send)];
    lane[s].send = p.port(port.peer, p.streams());
    return true;
  });
}

// Step `s` goes to a new lane: all of it, or, where it both stores and sends, one half.
bool detach(Program& p, Lane& lane, size_t s, bool writer) {
  const Step step = lane[s];
  if (step.recv < 0 || step.send < 0) {
    erase(lane, s);
    p.lanes.push_back({step});
    return true;
  }
  if (!step.dst) return false;
  Loc stored = step.dst;
  stored.final_value = 0;
  const Step sends{.send = step.send, .src = stored};
  Step takes = step;
  takes.send = -1;
  lane[s] = writer ? takes : sends;
  p.lanes.push_back({writer ? sends : takes});
  return true;
}

// All messages of stream `old` between two ranks go on stream `now`.
void renumber(Programs& programs, Rank from, Rank to, int old, int now) {
  Program& sender = programs[static_cast<size_t>(from)];
  Program& receiver = programs[static_cast<size_t>(to)];
  const int16_t sent = sender.port(to, old);
  const int16_t sent_now = sender.port(to, now);
  const int16_t received = receiver.port(from, old);
  const int16_t received_now = receiver.port(from, now);
  for (Lane& lane : sender.lanes) {
    for (Step& s : lane) {
      if (s.send == sent) s.send = sent_now;
    }
  }
  for (Lane& lane : receiver.lanes) {
    for (Step& s : lane) {
      if (s.recv == received) s.recv = received_now;
    }
  }
}

// Of three messages of a lane on one stream, the middle one gets a lane of its own.
bool detach_middle(Programs& programs, int16_t Step::*port, bool writer) {
  return change_step(programs, [=](Program& p, Lane& lane, size_t s) {
    const auto on_it = [&](const Step& step) { return step.*port == lane[s].*port; };
    const auto at = lane.begin() + static_cast<std::ptrdiff_t>(s);
    if (lane[s].*port < 0) return false;
    if (std::none_of(lane.begin(), at, on_it) || std::none_of(at + 1, lane.end(), on_it)) {
      return false;
    }
    return detach(p, lane, s, writer);
  });
}

// All messages with a peer that has three on different streams go on one; then as above.
bool merge_and_detach(Programs& programs, int16_t Step::*port, bool writer) {
  const auto rank = static_cast<Rank>(programs.size() / 2);
  const Program& p = programs[static_cast<size_t>(rank)];
  std::map<Rank, std::vector<int>> streams;
  for (const Step& s : p.lanes[0]) {
    if (s.*port < 0) continue;
    const Port used = p.ports[static_cast<size_t>(s.*port)];
    streams[used.peer].push_back(used.stream);
  }
  for (const auto& [peer, numbers] : streams) {
    if (numbers.size() < 3) continue;
    for (const int number : numbers) {
      const Rank from = writer ? rank : peer;
      const Rank to = writer ? peer : rank;
      if (number != numbers[0]) renumber(programs, from, to, number, numbers[0]);
    }
    return detach_middle(programs, port, writer);
  }
  return false;
}

bool add_writer(Programs& programs) {
  return detach_middle(programs, &Step::send, true) ||
         merge_and_detach(programs, &Step::send, true);
}
bool add_reader(Programs& programs) {
  return detach_middle(programs, &Step::recv, false) ||
         merge_and_detach(programs, &Step::recv, false);
}

bool split_lane(Programs& programs) {
  Program& p = programs[programs.size() / 2];
  Lane& lane = p.lanes[0];
  if (lane.size() < 4) return false;
  const auto middle = lane.begin() + static_cast<std::ptrdiff_t>(lane.size() / 2);
  Lane rest(middle, lane.end());
  lane.erase(middle, lane.end());
  p.lanes.push_back(std::move(rest));
  return true;
}

bool receive_first(Programs& programs) {
  bool all = true;
  for (Program& p : programs) {
    Lane& lane = p.lanes[0];
    const auto receives = [](const Step& s) { return s.recv >= 0; };
    const auto found = std::find_if(lane.begin(), lane.end(), receives);
    all &= found != lane.end();
    if (found != lane.end()) std::rotate(lane.begin(), found, found + 1);
  }
  return all;
}

// Messages that may be under way at once share a stream.
bool merge_streams(Programs& programs) {
  for (Program& p : programs) {
    for (Port& port : p.ports) port.stream = 0;
  }
  return true;
}

bool drop_operand(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    if (lane[s].recv < 0 || !lane[s].src) return false;
    lane[s].src = {};
    return true;
  });
}

bool double_operand(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    if (lane[s].recv < 0 || lane[s].src || lane[s].dst.where() != Buffer::kOut) return false;
    lane[s].src = in(static_cast<int>(lane[s].dst.chunk));
    return true;
  });
}

bool turn_operands(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    if (lane[s].recv < 0 || !lane[s].src) return false;
    lane[s].src.left = !lane[s].src.left;
    return true;
  });
}

bool mistake_chunk(Programs& programs) {
  return change_step(programs, [](Program& p, Lane& lane, size_t s) {
    const int chunks = p.in_chunks;
    if (lane[s].src.where() != Buffer::kIn || chunks < 2) return false;
    lane[s].src.chunk =
        static_cast<uint32_t>((static_cast<int>(lane[s].src.chunk) + 1) % chunks) & 0xFFFFFFFU;
    return true;
  });
}

bool mistake_target(Programs& programs) {
  return change_step(programs, [](Program& p, Lane& lane, size_t s) {
    const int chunks = p.out_chunks;
    if (lane[s].dst.where() != Buffer::kOut || chunks < 2) return false;
    lane[s].dst.chunk =
        static_cast<uint32_t>((static_cast<int>(lane[s].dst.chunk) + 1) % chunks) & 0xFFFFFFFU;
    return true;
  });
}

// Something else is kept in scratch before the value there has been read.
bool share_scratch(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    const Loc kept = lane[s].src;
    if (kept.where() != Buffer::kScratch) return false;
    const auto stores = [&](const Step& step) { return step.dst.same_place(kept); };
    const auto at = lane.begin() + static_cast<std::ptrdiff_t>(s);
    if (std::none_of(lane.begin(), at, stores)) return false;
    Loc place = kept;
    place.left = 0;
    insert(lane, s, {.src = in(0), .dst = place});
    return true;
  });
}

// The output gets a first value before the input there has been read.
bool store_early(Programs& programs) {
  const size_t rank = programs.size() / 2;
  insert(programs[rank].lanes[0], 0, {.src = in(rank == 0 ? 1 : 0), .dst = out(0)});
  return true;
}

bool read_output(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    if (lane[s].src.where() != Buffer::kIn) return false;
    lane[s].src.buffer = out(0).buffer;
    return true;
  });
}

bool copy_first(Programs& programs) {
  Lane& lane = programs[programs.size() / 2].lanes[0];
  const auto reads = [](const Step& s) { return s.src.where() == Buffer::kIn; };
  const auto found = std::find_if(lane.begin(), lane.end(), reads);
  if (found == lane.end()) return false;
  const int chunk = static_cast<int>(found->src.chunk);
  insert(lane, 0, {.src = in(chunk), .dst = out(chunk)});
  return true;
}

// A partial sum, which in place lies where the input was, is loaded as if it were the input.
bool read_partial_as_input(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    Step& step = lane[s];
    if (step.recv < 0 || step.src.where() == Buffer::kIn || !step.src) return false;
    if (step.src.where() == Buffer::kOut) {
      step.src.buffer = in(0).buffer;
      return true;
    }
    if (!step.dst.final_value || s == 0 || !lane[s - 1].dst.same_place(step.src)) return false;
    lane[s - 1].dst = out(static_cast<int>(step.dst.chunk));
    step.src.buffer = in(0).buffer;
    step.src.chunk = step.dst.chunk;
    return true;
  });
}

bool forget_final(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    if (!lane[s].dst.final_value) return false;
    lane[s].dst.final_value = 0;
    return true;
  });
}

bool finish_again(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    if (lane[s].recv < 0 || lane[s].src || lane[s].dst.where() != Buffer::kOut) return false;
    lane[s].dst.final_value = 1;
    return true;
  });
}

bool finish_early(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    if (lane[s].recv < 0 || !lane[s].src || !lane[s].dst || lane[s].dst.final_value) return false;
    lane[s].dst.final_value = 1;
    return true;
  });
}

// What has just been sent from a chunk is written there once more.
bool rewrite_sent(Programs& programs) {
  return change_step(programs, [](Program&, Lane& lane, size_t s) {
    if (lane[s].send < 0 || lane[s].dst.where() != Buffer::kOut) return false;
    Loc stored = lane[s].dst;
    stored.final_value = 0;
    insert(lane, s + 1, {.src = stored, .dst = stored});
    return true;
  });
}

bool leave(Programs&) { return true; }

struct Site {
  Algorithm algorithm;
  Collective collective;
  int ranks;
  Rank root = 0;
};

struct Kind {
  Bug bug;
  Planter plant;
  bool in_place = false;
  bool by_reference = false;
  bool waits = true;
  bool rank_order = false;
  std::vector<Site> sites;
};

using A = Algorithm;
using C = Collective;

const std::vector<Site> kRings = {
    {A::kRing, C::kAllReduce, 4},        {A::kRing, C::kAllGather, 5},
    {A::kPat, C::kAllGather, 6},         {A::kPat, C::kReduceScatter, 4},
    {A::kDirect, C::kAllReduce, 4},      {A::kDoubling, C::kAllReduce, 8},
    {A::kHierarchical, C::kAllGather, 6}};
const std::vector<Site> kTrees = {{A::kTree, C::kAllReduce, 7}, {A::kDoubleTree, C::kAllReduce, 7},
                                  {A::kChain, C::kReduce, 4},   {A::kFlat, C::kBroadcast, 4},
                                  {A::kTree, C::kBroadcast, 6}, {A::kHierarchical, C::kReduce, 6},
                                  {A::kFlat, C::kAllReduce, 4}};
const std::vector<Site> kAllReduces = {
    {A::kRing, C::kAllReduce, 4},       {A::kTree, C::kAllReduce, 7},
    {A::kDoubleTree, C::kAllReduce, 7}, {A::kDirect, C::kAllReduce, 4},
    {A::kDoubling, C::kAllReduce, 4},   {A::kHierarchical, C::kAllReduce, 6}};

std::vector<Site> both(const std::vector<Site>& a, const std::vector<Site>& b) {
  std::vector<Site> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

std::vector<Kind> message_kinds() {
  const std::vector<Site> many_messages = {
      {A::kRing, C::kAllGather, 8},         {A::kRing, C::kAllReduce, 8},
      {A::kPat, C::kAllGather, 16},         {A::kDirect, C::kAllReduce, 4},
      {A::kHierarchical, C::kAllReduce, 9}, {A::kHierarchical, C::kAllGather, 25}};
  return {
      {.bug = Bug::kLostMessage, .plant = lose_message, .sites = both(kRings, kTrees)},
      {.bug = Bug::kExtraMessage, .plant = add_message, .sites = both(kRings, kTrees)},
      {.bug = Bug::kSwappedMessages,
       .plant = swap_messages,
       .sites = {{A::kDirect, C::kReduceScatter, 4},
                 {A::kDirect, C::kAllReduce, 4},
                 {A::kPat, C::kAllGather, 8},
                 {A::kHierarchical, C::kAllGather, 6}}},
      {.bug = Bug::kSwappedMessages,
       .plant = swap_received,
       .sites = {{A::kRing, C::kAllGather, 5},
                 {A::kDirect, C::kAllGather, 4},
                 {A::kPat, C::kAllGather, 8}}},
      {.bug = Bug::kMisdirectedMessage, .plant = misdirect, .sites = both(kRings, kTrees)},
      {.bug = Bug::kWrongStream, .plant = mistake_stream, .sites = both(kRings, kTrees)},
      {.bug = Bug::kTwoWriters, .plant = add_writer, .sites = many_messages},
      {.bug = Bug::kTwoReaders, .plant = add_reader, .sites = many_messages},
      {.bug = Bug::kSplitLane, .plant = split_lane, .sites = kRings},
      {.bug = Bug::kReceiveFirstCycle, .plant = receive_first, .sites = kRings},
      {.bug = Bug::kNeedsCreditTwo,
       .plant = merge_streams,
       .sites = {{A::kRing, C::kAllReduce, 4},
                 {A::kRing, C::kReduceScatter, 5},
                 {A::kDirect, C::kAllReduce, 2},
                 {A::kPat, C::kAllGather, 8},
                 {A::kHierarchical, C::kAllReduce, 6}}},
  };
}

std::vector<Kind> value_kinds() {
  const std::vector<Site> split = {{A::kRing, C::kAllReduce, 4},
                                   {A::kRing, C::kReduceScatter, 4},
                                   {A::kDirect, C::kAllReduce, 4},
                                   {A::kDirect, C::kAllToAll, 4},
                                   {A::kHierarchical, C::kReduceScatter, 6}};
  const std::vector<Site> scattered = {{A::kRing, C::kReduceScatter, 4},
                                       {A::kPat, C::kReduceScatter, 8},
                                       {A::kDirect, C::kReduceScatter, 4},
                                       {A::kHierarchical, C::kReduceScatter, 6}};
  return {
      {.bug = Bug::kMissingReduction,
       .plant = drop_operand,
       .sites = both(kAllReduces, both(scattered, {{A::kChain, C::kReduce, 4}}))},
      {.bug = Bug::kDoubledReduction, .plant = double_operand, .sites = kAllReduces},
      {.bug = Bug::kReorderedReduction,
       .plant = turn_operands,
       .sites = {{A::kDoubling, C::kAllReduce, 4}, {A::kFlat, C::kAllReduce, 4}}},
      {.bug = Bug::kReorderedReduction,
       .plant = turn_operands,
       .rank_order = true,
       .sites = {{A::kFlat, C::kReduce, 4},
                 {A::kChain, C::kReduce, 2, 1},
                 {A::kTree, C::kReduce, 2, 1}}},
      {.bug = Bug::kWrongChunk, .plant = mistake_chunk, .sites = split},
      {.bug = Bug::kWrongChunk,
       .plant = mistake_target,
       .sites = {{A::kRing, C::kAllGather, 4},
                 {A::kPat, C::kAllGather, 5},
                 {A::kDirect, C::kAllToAll, 4},
                 {A::kDoubleTree, C::kBroadcast, 6}}},
      {.bug = Bug::kScratchReusedEarly,
       .plant = share_scratch,
       .sites = both(scattered, {{A::kTree, C::kReduce, 7},
                                 {A::kTree, C::kAllReduce, 7},
                                 {A::kDoubleTree, C::kReduce, 7},
                                 {A::kFlat, C::kAllReduce, 4},
                                 {A::kFlat, C::kReduce, 4},
                                 {A::kDoubling, C::kAllReduce, 6}})},
      {.bug = Bug::kInPlaceOverwritten, .plant = store_early, .in_place = true, .sites = scattered},
  };
}

std::vector<Kind> operation_kinds() {
  return {
      {.bug = Bug::kPreMissing, .plant = read_output, .in_place = true, .sites = kAllReduces},
      {.bug = Bug::kPreDoubled, .plant = copy_first, .in_place = true, .sites = kAllReduces},
      {.bug = Bug::kPreEarly,
       .plant = read_partial_as_input,
       .in_place = true,
       .sites = both(kAllReduces, {{A::kFlat, C::kAllReduce, 4}})},
      {.bug = Bug::kFinalMissing,
       .plant = forget_final,
       .sites = both(kAllReduces, {{A::kFlat, C::kReduce, 4}, {A::kPat, C::kReduceScatter, 5}})},
      {.bug = Bug::kFinalDoubled, .plant = finish_again, .sites = kAllReduces},
      {.bug = Bug::kFinalEarly,
       .plant = finish_early,
       .sites = both(kAllReduces, {{A::kFlat, C::kReduce, 4}, {A::kPat, C::kReduceScatter, 8}})},
      {.bug = Bug::kByReferenceOverwritten,
       .plant = rewrite_sent,
       .by_reference = true,
       .waits = false,
       .sites = both(kAllReduces, {{A::kRing, C::kAllGather, 4}, {A::kChain, C::kBroadcast, 4}})},
      {.bug = Bug::kByReferenceOverwritten,
       .plant = leave,
       .in_place = true,
       .by_reference = true,
       .sites = {{A::kDoubling, C::kAllReduce, 2}, {A::kFlat, C::kAllReduce, 2}}},
  };
}

void plant_all(const std::vector<Kind>& kinds, std::vector<PlantedBug>& all) {
  for (const Kind& kind : kinds) {
    for (const Site& site : kind.sites) {
      PlantedBug bug{.kind = kind.bug,
                     .spec = {.collective = site.collective,
                              .algorithm = site.algorithm,
                              .ranks = site.ranks,
                              .root = site.root},
                     .programs = {},
                     .in_place = kind.in_place,
                     .by_reference = kind.by_reference,
                     .waits = kind.waits,
                     .rank_order = kind.rank_order};
      bug.programs = programs_of(bug.spec);
      if (!bug.programs.empty() && kind.plant(bug.programs)) all.push_back(std::move(bug));
    }
  }
}

}  // namespace

Claim PlantedBug::claim() const {
  return {.collective = spec.collective,
          .ranks = spec.ranks,
          .root = spec.root,
          .in_place = in_place,
          .by_reference = by_reference,
          .waits = waits,
          .rank_order = rank_order,
          .programs = programs};
}

std::string PlantedBug::name() const {
  return fmt::format("{} in {} {}, {} ranks", accl::name_of(kind), accl::name_of(spec.algorithm),
                     accl::name_of(spec.collective), spec.ranks);
}

std::vector<PlantedBug> planted_bugs() {
  std::vector<PlantedBug> all;
  plant_all(message_kinds(), all);
  plant_all(value_kinds(), all);
  plant_all(operation_kinds(), all);
  return all;
}

std::vector<Program> programs_of(ProgramSpec spec) {
  std::vector<Program> programs;
  for (spec.rank = 0; spec.rank < spec.ranks; spec.rank++) {
    auto program = make_program(spec);
    if (!program.ok()) return {};
    programs.push_back(std::move(*program));
  }
  return programs;
}

}  // namespace accl
