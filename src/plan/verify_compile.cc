// Reads the programs of all ranks into flat tables: places instead of chunks, streams instead of
// ports.
#include <fmt/format.h>

#include <algorithm>

#include "src/plan/verify_run.h"

namespace accl::verify_detail {
namespace {

bool is_reduction(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

struct Shape {
  Layout in;
  Layout out;
};

Shape shape_of(Collective collective) {
  switch (collective) {
    case Collective::kAllGather:
      return {Layout::kOwn, Layout::kBlocks};
    case Collective::kReduceScatter:
      return {Layout::kBlocks, Layout::kOwn};
    case Collective::kAllToAll:
      return {Layout::kBlocks, Layout::kBlocks};
    default:
      return {Layout::kSplit, Layout::kSplit};
  }
}

int chunks_of(Layout layout, int chunks) { return layout == Layout::kOwn ? 1 : chunks; }

}  // namespace

Machine::Machine(const Claim& claim) : claim_(claim), expressions_(std::max(1, claim.ranks)) {
  malformed_ = check_claim();
  if (!malformed_.empty()) return;
  reduces_ = is_reduction(claim.collective);
  const Program& model = claim.programs[0];
  in_chunks_ = chunks_of(model.in_layout, model.in_chunks);
  out_chunks_ = chunks_of(model.out_layout, model.out_chunks);
  first_place_.push_back(0);
  size_t steps = 0;
  for (const Program& p : claim.programs) {
    first_place_.push_back(first_place_.back() + p.scratch_chunks +
                           (in_chunks_ + out_chunks_) * claim.rounds);
    for (const Lane& lane : p.lanes) steps += lane.size();
  }
  steps_.reserve(steps);
  first_stream_.assign(static_cast<size_t>(claim.ranks) * static_cast<size_t>(claim.ranks), -1);
  for (Rank r = 0; r < claim.ranks; r++) {
    if (!compile_rank(r)) return;
  }
  find_shared_chunks();
}

std::string Machine::check_claim() const {
  const Claim& c = claim_;
  if (c.collective == Collective::kPointToPoint) {
    return "send and receive promise nothing that could be proven";
  }
  if (c.ranks < 1 || c.programs.size() != static_cast<size_t>(c.ranks)) {
    return fmt::format("{} programs for {} ranks", c.programs.size(), c.ranks);
  }
  if (c.root < 0 || c.root >= c.ranks) {
    return fmt::format("root {} is not one of {} ranks", c.root, c.ranks);
  }
  if (c.credits < 1 || c.rounds < 1) {
    return fmt::format("{} credits and {} rounds: both must be at least 1", c.credits, c.rounds);
  }
  for (size_t r = 0; r < c.programs.size(); r++) {
    const std::string wrong = check_shape(c.programs[r]);
    if (!wrong.empty()) return fmt::format("rank {}: {}", r, wrong);
  }
  return "";
}

std::string Machine::check_shape(const Program& p) const {
  const Program& model = claim_.programs[0];
  const Shape shape = shape_of(claim_.collective);
  if (p.in_layout != shape.in || p.out_layout != shape.out) {
    return fmt::format("the layouts of `in` and `out` are not those of {}",
                       name_of(claim_.collective));
  }
  if (p.in_chunks != model.in_chunks || p.out_chunks != model.out_chunks) {
    return fmt::format("{} and {} chunks, but rank 0 has {} and {}", p.in_chunks, p.out_chunks,
                       model.in_chunks, model.out_chunks);
  }
  const bool blocks_fit = (shape.in != Layout::kBlocks || p.in_chunks == claim_.ranks) &&
                          (shape.out != Layout::kBlocks || p.out_chunks == claim_.ranks);
  const bool split_fits = shape.in != Layout::kSplit || p.in_chunks == p.out_chunks;
  if (p.in_chunks < 1 || p.out_chunks < 1 || p.scratch_chunks < 0 || !blocks_fit || !split_fits) {
    return fmt::format("{} chunks of `in` and {} of `out` do not make {} with {} ranks",
                       p.in_chunks, p.out_chunks, name_of(claim_.collective), claim_.ranks);
  }
  return "";
}

bool Machine::compile_rank(Rank rank) {
  const Program& p = claim_.programs[static_cast<size_t>(rank)];
  for (const Port& port : p.ports) {
    if (port.peer >= 0 && port.peer < claim_.ranks) continue;
    malformed_ = fmt::format("rank {}: a port to rank {} of {}", rank, port.peer, claim_.ranks);
    return false;
  }
  first_lane_.push_back(static_cast<int>(lanes_.size()));
  for (int lane = 0; lane < static_cast<int>(p.lanes.size()); lane++) {
    const int size = static_cast<int>(p.lanes[static_cast<size_t>(lane)].size());
    lanes_.push_back(
        {.rank = rank, .index = lane, .first = static_cast<int>(steps_.size()), .size = size});
    for (int i = 0; i < size; i++) {
      if (!compile_step(rank, lane, i)) return false;
    }
  }
  return true;
}

int Machine::place(Rank rank, Loc loc, int& stride) const {
  const Program& p = claim_.programs[static_cast<size_t>(rank)];
  const int first = first_place_[static_cast<size_t>(rank)];
  const int chunk = static_cast<int>(loc.chunk);
  if (loc.where() == Buffer::kScratch) {
    stride = 0;
    return first + chunk;
  }
  stride = in_chunks_ + out_chunks_;
  const int inputs = first + p.scratch_chunks;
  const int outputs = inputs + in_chunks_;
  const bool to_in = loc.where() == Buffer::kIn;
  const int at = (to_in ? p.in_layout : p.out_layout) == Layout::kOwn ? 0 : chunk;
  if (!claim_.in_place || (claim_.collective == Collective::kReduce && rank != claim_.root)) {
    return (to_in ? inputs : outputs) + at;
  }
  if (claim_.collective == Collective::kAllGather) return outputs + (to_in ? rank : at);
  if (claim_.collective == Collective::kReduceScatter) return inputs + (to_in ? at : rank);
  return outputs + at;
}

bool Machine::compile_step(Rank rank, int lane, int index) {
  const Program& p = claim_.programs[static_cast<size_t>(rank)];
  const Step& step = p.lanes[static_cast<size_t>(lane)][static_cast<size_t>(index)];
  const Where here{rank, lane, index, 0};
  const int ports = static_cast<int>(p.ports.size());
  const auto exists = [&](Loc loc) {
    const Layout layout = loc.where() == Buffer::kIn ? p.in_layout : p.out_layout;
    if (!loc) return true;
    if (loc.where() == Buffer::kScratch) return static_cast<int>(loc.chunk) < p.scratch_chunks;
    const int chunks = loc.where() == Buffer::kIn ? in_chunks_ : out_chunks_;
    return layout == Layout::kOwn || static_cast<int>(loc.chunk) < chunks;
  };
  const char* wrong = nullptr;
  if (step.recv >= ports || step.send >= ports) wrong = "has a port that the program lacks";
  if (step.recv < 0 && !step.src) wrong = "has no value";
  if (step.send < 0 && !step.dst) wrong = "leads nowhere";
  if (!exists(step.src) || !exists(step.dst)) wrong = "has a chunk that the buffer lacks";
  if (step.dst.where() == Buffer::kIn) wrong = "stores to `in`";
  if (wrong) {
    malformed_ = fmt::format("rank {}: lane {} step {} {}", rank, lane, index, wrong);
    return false;
  }
  FlatStep& flat = steps_.emplace_back();
  use_stream(flat, step, here);
  flat.left = step.src.left;
  flat.final_value = step.dst.final_value;
  flat.from_in = step.src.where() == Buffer::kIn;
  if (step.src) flat.src = place(rank, step.src, flat.src_stride);
  if (!step.dst) return true;
  flat.dst = place(rank, step.dst, flat.dst_stride);
  const bool split = p.out_layout == Layout::kSplit && step.dst.where() == Buffer::kOut;
  if (split) flat.dst_chunk = static_cast<int>(step.dst.chunk);
  if (step.dst.where() == Buffer::kOut && !has_output(rank)) no_buffer_ = here;
  return true;
}

void Machine::use_stream(FlatStep& flat, const Step& step, Where at) {
  const Program& p = claim_.programs[static_cast<size_t>(at.rank)];
  if (step.recv >= 0) {
    const Port& port = p.ports[static_cast<size_t>(step.recv)];
    flat.recv = stream(port.peer, at.rank, port.stream);
    StreamUse& use = uses_[static_cast<size_t>(flat.recv)];
    use.recvs++;
    use.last_recv = at;
    if (use.reader < 0) use.reader = at.lane;
    if (use.reader != at.lane) use.second_reader = at.lane;
  }
  if (step.send >= 0) {
    const Port& port = p.ports[static_cast<size_t>(step.send)];
    flat.send = stream(at.rank, port.peer, port.stream);
    StreamUse& use = uses_[static_cast<size_t>(flat.send)];
    use.sends++;
    use.last_send = at;
    if (use.writer < 0) use.writer = at.lane;
    if (use.writer != at.lane) use.second_writer = at.lane;
  }
}

int Machine::stream(Rank from, Rank to, int number) {
  const auto pair =
      static_cast<size_t>(from) * static_cast<size_t>(claim_.ranks) + static_cast<size_t>(to);
  int i = first_stream_[pair];
  for (; i >= 0; i = next_stream_[static_cast<size_t>(i)]) {
    if (uses_[static_cast<size_t>(i)].number == number) return i;
  }
  next_stream_.push_back(first_stream_[pair]);
  first_stream_[pair] = static_cast<int>(uses_.size());
  uses_.push_back({.from = from, .to = to, .number = number});
  return first_stream_[pair];
}

// Only lanes that meet another one at a chunk, one of them storing, need a place in the clocks.
void Machine::find_shared_chunks() {
  struct Use {
    int lane = -1;
    bool stored = false;
    bool shared = false;
  };
  std::vector<Use> uses(static_cast<size_t>(first_place_.back()));
  const auto each_access = [&](auto f) {
    for (size_t lane = 0; lane < lanes_.size(); lane++) {
      const LaneRun& l = lanes_[lane];
      for (int i = l.first; i < l.first + l.size; i++) {
        const FlatStep& s = steps_[static_cast<size_t>(i)];
        if (s.src >= 0) f(lane, uses[static_cast<size_t>(s.src)], false);
        if (s.dst >= 0) f(lane, uses[static_cast<size_t>(s.dst)], true);
      }
    }
  };
  each_access([](size_t lane, Use& use, bool stores) {
    if (use.lane < 0) use.lane = static_cast<int>(lane);
    use.shared |= use.lane != static_cast<int>(lane);
    use.stored |= stores;
  });
  each_access([&](size_t lane, Use& use, bool) {
    LaneRun& l = lanes_[lane];
    if (!use.shared || !use.stored || l.component >= 0) return;
    l.component = static_cast<int>(components_++);
    component_lane_.push_back({l.rank, l.index, 0, 0});
  });
}

bool Machine::sound() const {
  return std::all_of(uses_.begin(), uses_.end(), [](const StreamUse& use) {
    return use.sends == use.recvs && use.second_writer < 0 && use.second_reader < 0;
  });
}

bool Machine::has_output(Rank rank) const {
  return claim_.collective != Collective::kReduce || rank == claim_.root;
}

int Machine::right_topic(Rank rank, int chunk, int round) const {
  int input = chunk;
  if (claim_.collective == Collective::kAllGather) input = 0;
  if (claim_.collective == Collective::kReduceScatter) input = rank;
  if (claim_.collective == Collective::kAllToAll) input = rank;
  return round * in_chunks_ + input;
}

Rank Machine::right_source(int chunk) const {
  return claim_.collective == Collective::kBroadcast ? claim_.root : chunk;
}

}  // namespace accl::verify_detail
