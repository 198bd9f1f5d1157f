// Single changes of the programs, tried one after the other.
#include <algorithm>

#include "src/plan/verify_diagnose.h"

namespace accl::verify_detail {
namespace {

constexpr int64_t kMostSteps = 30'000'000;  // a second or so

Step& step_of(std::vector<Program>& programs, Where at) {
  return programs[static_cast<size_t>(at.rank)]
      .lanes[static_cast<size_t>(at.lane)][static_cast<size_t>(at.step)];
}

// `loc` with the place of `other` and its own flags.
Loc moved(Loc loc, Loc other) {
  loc.buffer = other.buffer;
  loc.chunk = other.chunk;
  return loc;
}

}  // namespace

Mender::Mender(const Claim& claim)
    : claim_(claim),
      programs_(claim.programs.begin(), claim.programs.end()),
      steps_left_(kMostSteps) {
  claim_.programs = programs_;
  for (const Program& p : programs_) {
    for (const Lane& lane : p.lanes) steps_per_try_ += static_cast<int64_t>(lane.size());
  }
  steps_per_try_ = steps_per_try_ * claim.rounds + 100;
}

bool Mender::works() {
  steps_left_ -= steps_per_try_;
  return steps_left_ > 0 && holds(claim_);
}

Step& Mender::step(Where at) { return step_of(programs_, at); }

Where Mender::each_step(const std::function<bool(Where)>& works) {
  for (Rank r = 0; r < ranks(); r++) {
    const size_t lanes = program(r).lanes.size();
    for (size_t lane = 0; lane < lanes; lane++) {
      const size_t size = program(r).lanes[lane].size();
      for (size_t i = 0; i < size; i++) {
        const Where at{r, static_cast<int>(lane), static_cast<int>(i), 0};
        const Step before = step(at);
        const bool found = works(at);
        step(at) = before;
        if (found) return at;
        if (steps_left_ <= 0) return {};
      }
    }
  }
  return {};
}

std::vector<Loc> Mender::chunks(Rank rank) const {
  const Program& p = programs_[static_cast<size_t>(rank)];
  std::vector<Loc> all;
  const auto add = [&](int count, Layout layout, auto make) {
    for (int c = 0; c < (layout == Layout::kOwn ? 1 : count); c++) all.push_back(make(c));
  };
  add(p.in_chunks, p.in_layout, in);
  add(p.out_chunks, p.out_layout, out);
  add(p.scratch_chunks, Layout::kSplit, scratch);
  return all;
}

Where Mender::other_chunk() {
  return each_step([&](Where at) {
    Step& s = step(at);
    const Step before = s;
    for (const Loc loc : chunks(at.rank)) {
      if (before.src && !before.src.same_place(loc)) {
        s.src = moved(before.src, loc);
        if (works()) return true;
        s = before;
      }
      if (before.dst && !before.dst.same_place(loc) && loc.where() != Buffer::kIn) {
        s.dst = moved(before.dst, loc);
        if (works()) return true;
        s = before;
      }
    }
    return false;
  });
}

Where Mender::added_operand() {
  return each_step([&](Where at) {
    Step& s = step(at);
    if (s.recv < 0 || s.src) return false;
    for (Loc loc : chunks(at.rank)) {
      for (const bool left : {false, true}) {
        loc.left = left;
        s.src = loc;
        if (works()) return true;
      }
    }
    return false;
  });
}

Where Mender::dropped_operand() {
  return each_step([&](Where at) {
    Step& s = step(at);
    if (s.recv < 0 || !s.src) return false;
    s.src = {};
    return works();
  });
}

Where Mender::exchanged_operands() {
  return each_step([&](Where at) {
    Step& s = step(at);
    if (s.recv < 0 || !s.src) return false;
    s.src.left = !s.src.left;
    return works();
  });
}

// Meanings of "exchanged": the values that are sent, where they go, where they come from, the
// steps.
bool Mender::exchange(Where a, Where b) {
  Step& x = step(a);
  Step& y = step(b);
  const Step before_x = x;
  const Step before_y = y;
  bool found = false;
  if (x.send >= 0 && y.send >= 0 && x.src && y.src) {
    std::swap(x.src, y.src);
    found = works();
    x = before_x;
    y = before_y;
  }
  if (!found && x.send >= 0 && y.send >= 0 && x.send != y.send) {
    std::swap(x.send, y.send);
    found = works();
    x = before_x;
    y = before_y;
  }
  if (!found && x.recv >= 0 && y.recv >= 0 && x.recv != y.recv) {
    std::swap(x.recv, y.recv);
    found = works();
    x = before_x;
    y = before_y;
  }
  if (!found && !(x == y)) {
    std::swap(x, y);
    found = works();
    x = before_x;
    y = before_y;
  }
  return found;
}

Where Mender::exchanged_steps() {
  return each_step([&](Where at) {
    const Lane& lane = program(at.rank).lanes[static_cast<size_t>(at.lane)];
    for (int i = at.step + 1; i < static_cast<int>(lane.size()); i++) {
      Where other = at;
      other.step = i;
      if (exchange(at, other)) return true;
    }
    return false;
  });
}

// What step `from` stores, and all that is made of it in the same chunk up to the load of
// `to_step` (`from`: nothing is made of it), moves to a chunk that nobody else has.
bool Mender::rename_scratch(Where from, int to_step) {
  Program& p = program(from.rank);
  Lane& lane = p.lanes[static_cast<size_t>(from.lane)];
  const Lane before = lane;
  const Loc chunk = lane[static_cast<size_t>(from.step)].dst;
  const Loc fresh = scratch(p.scratch_chunks);
  p.scratch_chunks++;
  for (int i = from.step; i <= to_step; i++) {
    Step& s = lane[static_cast<size_t>(i)];
    if (i > from.step && s.src.same_place(chunk)) s.src = moved(s.src, fresh);
    if ((i < to_step || i == from.step) && s.dst.same_place(chunk)) s.dst = moved(s.dst, fresh);
  }
  const bool found = works();
  lane = before;
  p.scratch_chunks--;
  return found;
}

Where Mender::own_scratch() {
  return each_step([&](Where at) {
    if (step(at).dst.where() != Buffer::kScratch) return false;
    const Loc chunk = step(at).dst;
    if (rename_scratch(at, at.step)) return true;
    const Lane& lane = program(at.rank).lanes[static_cast<size_t>(at.lane)];
    for (int to = at.step + 1; to < static_cast<int>(lane.size()); to++) {
      if (!lane[static_cast<size_t>(to)].src.same_place(chunk)) continue;
      if (rename_scratch(at, to)) return true;
    }
    return false;
  });
}

bool Mender::lane_scratch(Rank rank, int lane, Loc chunk) {
  Program& p = program(rank);
  Lane& steps = p.lanes[static_cast<size_t>(lane)];
  const Lane before = steps;
  const Loc fresh = scratch(p.scratch_chunks);
  p.scratch_chunks++;
  for (Step& s : steps) {
    if (s.src.same_place(chunk)) s.src = moved(s.src, fresh);
    if (s.dst.same_place(chunk)) s.dst = moved(s.dst, fresh);
  }
  const bool found = works();
  steps = before;
  p.scratch_chunks--;
  return found;
}

bool Mender::sewn(Rank rank, int a, int b) {
  std::vector<Lane>& lanes = program(rank).lanes;
  const std::vector<Lane> before = lanes;
  bool found = false;
  for (const bool turned : {false, true}) {
    const int first = turned ? b : a;
    const int second = turned ? a : b;
    Lane both = before[static_cast<size_t>(first)];
    const Lane& rest = before[static_cast<size_t>(second)];
    both.insert(both.end(), rest.begin(), rest.end());
    lanes[static_cast<size_t>(a)] = std::move(both);
    lanes[static_cast<size_t>(b)].clear();
    found = works();
    lanes = before;
    if (found) break;
  }
  return found;
}

Where Mender::redirected(const StreamUse& from, const StreamUse& to, bool receives) {
  const Rank rank = receives ? from.to : from.from;
  Program& p = program(rank);
  const int16_t wrong = p.port(receives ? from.from : from.to, from.number);
  const int16_t right = p.port(receives ? to.from : to.to, to.number);
  return each_step([&](Where at) {
    Step& s = step(at);
    int16_t& port = receives ? s.recv : s.send;
    if (at.rank != rank || port != wrong) return false;
    port = right;
    return works();
  });
}

}  // namespace accl::verify_detail
