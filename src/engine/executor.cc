#include "src/engine/executor.h"

#include <algorithm>

namespace accl {
namespace {

// By reference pays from here on; below, a copy through the FIFO's cache lines is cheaper.
constexpr size_t kByReferenceBytes = 4096;
// Point-to-point messages by reference are cut to this, so that one pass never holds a thread long.
constexpr size_t kReferencePieceBytes = 1 << 20;

struct Piece {
  std::byte* data = nullptr;
  size_t count = 0;
};

// One step of one lane, with the facts that its parts share.
struct Context {
  Operation& op;
  Plan& plan;
  LaneState& at;
  const Step& step;
  size_t channel;
};

Piece vector_piece(std::byte* base, Layout layout, int chunks, Loc loc, const Context& c) {
  const Operation& op = c.op;
  const size_t element = op.math.element_bytes;
  const size_t first = c.at.round * op.round_count;
  const size_t length = std::min(op.round_count, op.elements - first);
  if (layout == Layout::kSplit) {
    if (chunks == 1) return {base + first * element, length};
    const Range range = chunk_range(length, chunks, static_cast<int>(loc.chunk));
    return {base + (first + range.first) * element, range.count};
  }
  const size_t block = layout == Layout::kBlocks ? loc.chunk * op.elements : 0;
  return {base + (block + first) * element, length};
}

// Where a chunk lies in this round. `scratch` chunks are as long as what was stored last.
Piece resolve(Loc loc, const Context& c) {
  const Program& program = c.plan.program;
  switch (loc.where()) {
    case Buffer::kIn:
      return vector_piece(const_cast<std::byte*>(c.op.in), program.in_layout, program.in_chunks,
                          loc, c);
    case Buffer::kOut:
      return vector_piece(c.op.out, program.out_layout, program.out_chunks, loc, c);
    case Buffer::kScratch: {
      const size_t index = c.channel * static_cast<size_t>(program.scratch_chunks) + loc.chunk;
      return {c.plan.scratch.get() + index * c.plan.chunk_bytes, c.op.scratch_count[index]};
    }
    case Buffer::kNone:
      break;
  }
  return {};
}

void set_scratch_count(Loc loc, size_t count, const Context& c) {
  if (loc.where() != Buffer::kScratch) return;
  c.op.scratch_count[c.channel * static_cast<size_t>(c.plan.program.scratch_chunks) + loc.chunk] =
      count;
}

// True while a peer may still read [data, data + bytes), which was sent by reference.
bool is_lent(Operation& op, const std::byte* data, size_t bytes) {
  if (op.lent.empty()) [[likely]]
    return false;
  std::erase_if(op.lent, [](const Lent& l) { return l.end->flushed() > l.number; });
  return std::any_of(op.lent.begin(), op.lent.end(), [&](const Lent& l) {
    return data < l.data + l.bytes && l.data < data + bytes;
  });
}

bool lend(Operation& op, SendEnd& end, Slice message, uint32_t signature) {
  const uint64_t number = end.pushed();
  if (!end.push(message, signature)) return false;
  op.lent.push_back({message.data, message.size, &end, number});
  return true;
}

void next_step(const Context& c) {
  LaneState& at = c.at;
  at.stored = false;
  at.done_bytes = 0;
  const size_t lane = static_cast<size_t>(&at - c.op.lanes.data());
  const Lane& steps = c.plan.program.lanes[lane % c.plan.program.lanes.size()];
  if (++at.step < steps.size()) return;
  at.step = 0;
  at.round += static_cast<uint32_t>(c.plan.channels);
  if (at.round >= c.op.rounds) c.op.unfinished--;
}

// The parts of a collective's step, once everything that it waits for is there.
struct Parts {
  Slice message;
  Piece src;
  Piece dst;
  size_t count = 0;
  SendEnd* send = nullptr;
  bool lend_src = false;  // send the source where it lies
  bool lend_dst = false;  // send the stored value where it lies
  Slice room;
};

// In place, a step that only moves a chunk to where it is writes nothing.
bool stays_as_it_is(const Context& c, const Parts& p) {
  const bool pre = c.step.src.where() == Buffer::kIn && c.op.math.scale;
  const bool post = c.step.dst.final_value && c.op.math.divide_by > 1;
  return c.step.recv < 0 && p.dst.data == p.src.data && !pre && !post;
}

void run_kernel(const Context& c, const Parts& p) {
  const Arithmetic& math = c.op.math;
  const bool raw = c.step.src.where() == Buffer::kIn;
  Pass pass;
  pass.count = p.count;
  pass.out = p.dst.data;
  pass.ring = p.room.data;
  if (p.message && c.step.src) {
    const bool left = c.step.src.left;
    pass.left = left ? p.src.data : p.message.data;
    pass.right = left ? p.message.data : p.src.data;
    (left ? pass.scale_left : pass.scale_right) = raw && math.scale;
  } else {
    pass.left = c.step.src ? p.src.data : p.message.data;
    pass.scale_left = c.step.src && raw && math.scale;
  }
  pass.scale = math.scale_by;
  pass.scale_int = math.scale_by_int;
  if (c.step.dst.final_value) pass.divide_by = math.divide_by;
  pass.nontemporal = c.op.nontemporal && !p.lend_dst && c.step.dst.where() == Buffer::kOut;
  if (stays_as_it_is(c, p)) pass.out = nullptr;
  if (pass.out || pass.ring) math.kernel(pass);
}

// Finds out whether the step can run now. False: it waits.
bool gather_parts(const Context& c, Parts& p) {
  const Step& step = c.step;
  const size_t port_base = c.channel * c.plan.ports();
  const size_t element = c.op.math.element_bytes;
  if (step.recv >= 0) {
    RecvEnd& end = *c.plan.recvs[port_base + static_cast<size_t>(step.recv)];
    p.message = end.front(c.op.signature);
    if (!p.message) return false;
    p.count = p.message.size / element;
  }
  if (step.src) {
    p.src = resolve(step.src, c);
    p.count = p.src.count;
  }
  if (step.dst) {
    set_scratch_count(step.dst, p.count, c);
    p.dst = resolve(step.dst, c);
    if (!stays_as_it_is(c, p) && is_lent(c.op, p.dst.data, p.count * element)) return false;
  }
  if (step.send < 0) return true;
  p.send = c.plan.sends[port_base + static_cast<size_t>(step.send)];
  const size_t bytes = p.count * element;
  if (bytes > kByReferenceBytes && p.send->by_reference() && !c.plan.copies) {
    const bool pre = step.src.where() == Buffer::kIn && c.op.math.scale;
    p.lend_src = step.recv < 0 && !pre && !(step.dst.final_value && c.op.math.divide_by > 1);
    p.lend_dst = !p.lend_src && step.dst;
    if (p.lend_src || p.lend_dst) return true;
  }
  p.room = p.send->reserve(bytes);
  return static_cast<bool>(p.room);
}

bool collective_step(const Context& c) {
  Parts p;
  const size_t element = c.op.math.element_bytes;
  if (c.at.stored) {  // only the message by reference is missing
    p.send = c.plan.sends[c.channel * c.plan.ports() + static_cast<size_t>(c.step.send)];
    p.dst = resolve(c.step.dst, c);
    if (!lend(c.op, *p.send, {p.dst.data, p.dst.count * element}, c.op.signature)) return false;
    next_step(c);
    return true;
  }
  if (!gather_parts(c, p)) return false;
  if (p.lend_src && !lend(c.op, *p.send, {p.src.data, p.count * element}, c.op.signature)) {
    return false;
  }
  run_kernel(c, p);
  if (p.room) p.send->commit(c.op.signature);
  if (c.step.recv >= 0) {
    c.plan.recvs[c.channel * c.plan.ports() + static_cast<size_t>(c.step.recv)]->pop();
  }
  if (p.lend_dst && !lend(c.op, *p.send, {p.dst.data, p.count * element}, c.op.signature)) {
    c.at.stored = true;
    return true;
  }
  next_step(c);
  return true;
}

// Point-to-point: a step moves one call's buffer, in as many messages as it takes (at least one).
bool send_step(const Context& c) {
  const Extent& from = c.op.extents[c.step.src.chunk];
  SendEnd& end = *c.plan.sends[static_cast<size_t>(c.step.send)];
  const size_t left = from.bytes - c.at.done_bytes;
  std::byte* data = from.data + c.at.done_bytes;
  size_t bytes = 0;
  if (end.by_reference() && left > kByReferenceBytes) {
    bytes = std::min({left, kReferencePieceBytes, end.largest_push()});
    if (!lend(c.op, end, {data, bytes}, from.signature)) return false;
  } else {
    bytes = std::min(left, c.plan.chunk_bytes);
    const Slice room = end.reserve(bytes);
    if (!room) return false;
    c.op.math.kernel({.ring = room.data, .left = data, .count = bytes});
    end.commit(from.signature);
  }
  c.at.done_bytes += bytes;
  if (c.at.done_bytes == from.bytes) next_step(c);
  return true;
}

bool recv_step(const Context& c) {
  const Extent& to = c.op.extents[c.step.dst.chunk];
  RecvEnd& end = *c.plan.recvs[static_cast<size_t>(c.step.recv)];
  const Slice message = end.front(to.signature);
  if (!message || message.size > to.bytes - c.at.done_bytes) return false;
  c.op.math.kernel({.out = to.data + c.at.done_bytes, .left = message.data, .count = message.size});
  c.at.done_bytes += message.size;
  end.pop();
  if (c.at.done_bytes == to.bytes) next_step(c);
  return true;
}

bool lane_finished(const Operation& op, size_t lane) { return op.lanes[lane].round >= op.rounds; }

bool run_step(Operation& op, size_t lane) {
  Plan& plan = *op.plan;
  const size_t lanes = plan.program.lanes.size();
  LaneState& at = op.lanes[lane];
  const Context c{op, plan, at, plan.program.lanes[lane % lanes][at.step], lane / lanes};
  if (!op.is_p2p()) [[likely]]
    return collective_step(c);
  return c.step.recv >= 0 ? recv_step(c) : send_step(c);
}

void finish(Operation& op) {
  if (op.plan->chunk_bytes <= kByReferenceBytes) return;
  for (SendEnd* end : op.plan->sends) {
    if (end) end->rest();
  }
}

}  // namespace

std::string describe_point_to_point(uint32_t signature) {
  if (signature == 0 || signature > 0x7fffffff) return "another size";
  return std::to_string(signature - 1) + " bytes";
}

void Room::cover(const Plan& plan) {
  const Program& program = plan.program;
  lanes = std::max(lanes, plan.lanes());
  scratch = std::max(
      scratch, static_cast<size_t>(plan.channels) * static_cast<size_t>(program.scratch_chunks));
  lent = std::max(lent, 4 * plan.sends.size() + 16);
  if (plan.collective != Collective::kPointToPoint) return;
  transfers = std::max(transfers, static_cast<size_t>(program.in_chunks));
  program_lanes = std::max(program_lanes, program.lanes.size());
  for (const Lane& lane : program.lanes) steps = std::max(steps, lane.size());
  ports = std::max(ports, plan.ports());
}

void make_room(Operation& op, const Room& room) {
  constexpr size_t kUsualStreams = 8;  // of one group's calls
  op.turns.reserve(kUsualStreams);
  op.lanes.reserve(room.lanes);
  op.scratch_count.reserve(room.scratch);
  op.lent.reserve(room.lent);
  if (!op.is_p2p()) return;
  Program& program = op.p2p.program;
  op.extents.reserve(room.transfers);
  op.p2p.sends.reserve(room.ports);
  op.p2p.recvs.reserve(room.ports);
  program.ports.reserve(room.ports);
  if (program.lanes.size() < room.program_lanes) program.lanes.resize(room.program_lanes);
  for (Lane& lane : program.lanes) lane.reserve(room.steps);
}

void start(Operation& op) {
  const Plan& plan = *op.plan;
  const size_t lanes = plan.lanes();
  const size_t per_channel = plan.program.lanes.size();
  op.lanes.assign(lanes, LaneState{});
  op.scratch_count.assign(
      static_cast<size_t>(plan.channels) * static_cast<size_t>(plan.program.scratch_chunks), 0);
  op.lent.clear();
  op.unfinished = 0;
  for (size_t i = 0; i < lanes; i++) {
    op.lanes[i].round = static_cast<uint32_t>(i / per_channel);
    if (plan.program.lanes[i % per_channel].empty()) op.lanes[i].round = op.rounds;
    if (!lane_finished(op, i)) op.unfinished++;
  }
}

bool is_returned(Operation& op) {
  if (op.lent.empty()) [[likely]]
    return true;
  std::erase_if(op.lent, [](const Lent& l) { return l.end->flushed() > l.number; });
  return op.lent.empty();
}

// What a peer waits for must not lie here when nobody drives the communicator any more.
static bool all_settled(const Plan& plan) {
  return std::all_of(plan.sends.begin(), plan.sends.end(),
                     [](SendEnd* end) { return end == nullptr || end->settled(); });
}

Advance advance(Operation& op) {
  bool moved = false;
  for (bool again = true; again && op.unfinished > 0;) {
    again = false;
    for (size_t lane = 0; lane < op.lanes.size(); lane++) {
      if (!lane_finished(op, lane) && run_step(op, lane)) again = moved = true;
    }
  }
  if (op.unfinished > 0) return moved ? Advance::kMoved : Advance::kBlocked;
  if (!is_returned(op)) return moved ? Advance::kMoved : Advance::kBlocked;
  if (op.plan->buffers && !all_settled(*op.plan)) {
    return moved ? Advance::kMoved : Advance::kBlocked;
  }
  finish(op);
  return Advance::kDone;
}

// All lanes are finished, and something that was sent has not left: if its connection is lost, it
// never will, and whoever asks where the operation waits has to see that.
static WaitPoint settling_point(const Operation& op) {
  const Plan& plan = *op.plan;
  for (size_t i = 0; i < plan.sends.size(); i++) {
    if (plan.sends[i] == nullptr || plan.sends[i]->settled()) continue;
    WaitPoint point{.send = plan.sends[i], .signature = op.signature};
    point.peer = plan.program.ports[i % plan.ports()].peer;
    return point;
  }
  return {.lane = op.lanes.size()};
}

WaitPoint wait_point(const Operation& op, size_t lane) {
  const Plan& plan = *op.plan;
  const size_t per_channel = plan.program.lanes.size();
  if (lane == 0 && op.unfinished == 0 && plan.buffers) return settling_point(op);
  for (; lane < op.lanes.size(); lane++) {
    if (lane_finished(op, lane)) continue;
    WaitPoint point{.lane = lane, .at = op.lanes[lane]};
    const Step& step = plan.program.lanes[lane % per_channel][point.at.step];
    const size_t base = lane / per_channel * plan.ports();
    point.receives = step.recv >= 0 && !point.at.stored;
    const int port = point.receives ? step.recv : step.send;
    if (port >= 0) point.peer = plan.program.ports[static_cast<size_t>(port)].peer;
    if (point.receives) point.recv = plan.recvs[base + static_cast<size_t>(port)];
    if (!point.receives && port >= 0) point.send = plan.sends[base + static_cast<size_t>(port)];
    point.signature = op.signature;
    if (op.is_p2p()) {
      const Extent& extent = op.extents[point.receives ? step.dst.chunk : step.src.chunk];
      point.bytes = extent.bytes;
      if (point.receives) point.signature = extent.signature;
    }
    return point;
  }
  return {.lane = op.lanes.size()};
}

}  // namespace accl
