#include "src/plan/verify_run.h"

#include <algorithm>
#include <bit>

namespace accl::verify_detail {

void Machine::reset() {
  expressions_ = Expressions(claim_.ranks);
  failed_ = false;
  end_ = End::kDone;
  where_ = before_ = first_final_ = misplaced_ = unwritten_ = stale_input_ = stale_because_ = {};
  first_.fill({});
  ready_.clear();
  for (size_t i = 0; i < lanes_.size(); i++) {
    LaneRun& l = lanes_[i];
    l.step = l.round = 0;
    l.message = -1;
    l.waits_for_loan = false;
    l.ready = l.size > 0;
    if (!l.ready) l.round = claim_.rounds;
    if (l.ready) ready_.push_back(static_cast<int>(i));
  }
  prepare_queues();
  const auto places = static_cast<size_t>(first_place_.back());
  memory_.assign(places, Expressions::kUnwritten);
  original_.assign(places, Expressions::kUnwritten);
  writers_.assign(places, {});
  loans_.assign(claim_.by_reference ? places : 0, 0);
  loan_waiters_.assign(static_cast<size_t>(claim_.ranks), {});
  accesses_.assign(components_ > 0 ? places : 0, {});
  clocks_.assign(lanes_.size() * components_, 0);
  message_clocks_.resize(messages_.size() * components_);
  set_inputs();
}

void Machine::prepare_queues() {
  queues_.resize(uses_.size());
  int base = 0;
  for (size_t i = 0; i < uses_.size(); i++) {
    const StreamUse& use = uses_[i];
    Queue& q = queues_[i];
    q = {.base = base};
    if (use.writer >= 0) q.writer = first_lane_[static_cast<size_t>(use.from)] + use.writer;
    if (use.reader >= 0) q.reader = first_lane_[static_cast<size_t>(use.to)] + use.reader;
    base += use.sends * claim_.rounds;
  }
  messages_.resize(static_cast<size_t>(base));
}

void Machine::set_inputs() {
  for (Rank r = 0; r < claim_.ranks; r++) {
    if (claim_.collective == Collective::kBroadcast && r != claim_.root) continue;
    for (int c = 0; c < in_chunks_; c++) {
      int stride = 0;
      const int first = place(r, in(c), stride);
      for (int t = 0; t < claim_.rounds; t++) {
        const auto p = static_cast<size_t>(first + t * stride);
        memory_[p] = original_[p] = expressions_.leaf(r, t * in_chunks_ + c);
      }
    }
  }
}

End Machine::run(int credits) {
  credits_ = credits > 0 ? credits : static_cast<int>(uses_.size() + steps_.size()) * claim_.rounds;
  reset();
  while (!ready_.empty() && !failed_) {
    const int lane = ready_.back();
    ready_.pop_back();
    lanes_[static_cast<size_t>(lane)].ready = false;
    while (fire(lane)) {
    }
  }
  if (!failed_) {
    for (int i = 0; i < lanes(); i++) {
      if (unfinished(i)) end_ = End::kStuck;
    }
  }
  return end_;
}

void Machine::wake(int lane) {
  if (lane < 0) return;
  LaneRun& l = lanes_[static_cast<size_t>(lane)];
  if (l.ready || l.round >= claim_.rounds) return;
  l.ready = true;
  ready_.push_back(lane);
}

bool Machine::fail(End end, Where at, Where other) {
  failed_ = true;
  end_ = end;
  where_ = at;
  before_ = other;
  return false;
}

// Looks at the message of a receiving step; it keeps its place in the stream until the step is
// over.
bool Machine::take(LaneRun& l, const FlatStep& s) {
  const Queue& q = queues_[static_cast<size_t>(s.recv)];
  if (q.head == q.tail) return false;
  l.message = q.base + q.head;
  const auto lane = static_cast<size_t>(&l - lanes_.data());
  for (size_t i = 0; i < components_; i++) {
    int& mine = clocks_[lane * components_ + i];
    mine = std::max(mine, message_clocks_[static_cast<size_t>(l.message) * components_ + i]);
  }
  return true;
}

// Runs the lane's next step. False: it waits, has finished, or shows a defect.
bool Machine::fire(int lane) {
  LaneRun& l = lanes_[static_cast<size_t>(lane)];
  if (l.round >= claim_.rounds) return false;
  const FlatStep& s = steps_[static_cast<size_t>(l.first + l.step)];
  if (s.recv >= 0 && l.message < 0 && !take(l, s)) return false;
  const int src = s.src < 0 ? -1 : s.src + l.round * s.src_stride;
  const int dst = s.dst < 0 ? -1 : s.dst + l.round * s.dst_stride;
  if (dst >= 0 && claim_.by_reference && loans_[static_cast<size_t>(dst)] > 0) {
    if (!claim_.waits) return fail(End::kOverwritten, at(l), writers_[static_cast<size_t>(dst)]);
    if (!l.waits_for_loan) loan_waiters_[static_cast<size_t>(l.rank)].push_back(lane);
    l.waits_for_loan = true;
    return false;
  }
  if (s.send >= 0) {
    const Queue& q = queues_[static_cast<size_t>(s.send)];
    if (q.tail - q.head >= credits_) return false;
  }
  if (components_ > 0) {
    if (l.component >= 0) clock(lane)[l.component] = time(l);
    if (src >= 0 && !ordered(l, lane, src, false)) return false;
    if (dst >= 0 && !ordered(l, lane, dst, true)) return false;
  }
  const Id value = evaluate(l, s);
  if (dst >= 0) store(l, s, value, dst);
  if (s.send >= 0) send(l, s, value, src, dst);
  if (l.message >= 0) give_back(l, queues_[static_cast<size_t>(s.recv)]);
  if (++l.step == l.size) {
    l.step = 0;
    l.round++;
  }
  return true;
}

Machine::Id Machine::load(const LaneRun& l, const FlatStep& s, int at) {
  const Id value = memory_[static_cast<size_t>(at)];
  if (value == Expressions::kUnwritten && !unwritten_) unwritten_ = this->at(l);
  if (!s.from_in) return value;
  if (value != original_[static_cast<size_t>(at)] && !stale_input_) {
    stale_input_ = this->at(l);
    stale_because_ = writers_[static_cast<size_t>(at)];
  }
  return reduces_ ? expressions_.pre(value) : value;
}

Machine::Id Machine::evaluate(LaneRun& l, const FlatStep& s) {
  Id value = Expressions::kUnwritten;
  unsigned before = 0;
  if (s.src >= 0) {
    const int place = s.src + l.round * s.src_stride;
    before = expressions_.flags(memory_[static_cast<size_t>(place)]);
    value = load(l, s, place);
  }
  if (l.message >= 0) {
    const Id message = messages_[static_cast<size_t>(l.message)].value;
    before |= expressions_.flags(message);
    if (s.src < 0) {
      value = message;
    } else {
      value = s.left ? expressions_.add(value, message) : expressions_.add(message, value);
    }
  }
  if (s.final_value) {
    value = expressions_.finish(value);
    if (!first_final_) first_final_ = at(l);
  }
  const unsigned after = expressions_.flags(value);
  if (after & ~before) note_flags(l, before, after);
  return value;
}

void Machine::note_flags(const LaneRun& l, unsigned before, unsigned after) {
  for (int i = 0; i < kFlags; i++) {
    Where& first = first_[static_cast<size_t>(i)];
    if (((after & ~before) >> i & 1) && !first) first = at(l);
  }
}

Where Machine::first(Flag flag) const {
  return first_[static_cast<size_t>(std::countr_zero(static_cast<unsigned>(flag)))];
}

void Machine::store(LaneRun& l, const FlatStep& s, Id value, int place) {
  const auto p = static_cast<size_t>(place);
  if (s.dst_chunk >= 0 && !misplaced_) {
    const int topic = expressions_.topic(value);
    if (topic >= 0 && topic % in_chunks_ != s.dst_chunk) misplaced_ = at(l);
  }
  memory_[p] = value;
  writers_[p] = at(l);
}

void Machine::send(LaneRun& l, const FlatStep& s, Id value, int src, int dst) {
  Queue& q = queues_[static_cast<size_t>(s.send)];
  const int number = q.base + q.tail++;
  Message& m = messages_[static_cast<size_t>(number)];
  m = {.value = value, .from = l.rank};
  if (claim_.by_reference) {
    m.lent = {s.recv < 0 ? src : -1, dst};
    for (const int p : m.lent) {
      if (p >= 0) loans_[static_cast<size_t>(p)]++;
    }
  }
  if (components_ > 0) {
    const auto lane = static_cast<size_t>(&l - lanes_.data());
    std::copy_n(clocks_.begin() + static_cast<std::ptrdiff_t>(lane * components_), components_,
                message_clocks_.begin() +
                    static_cast<std::ptrdiff_t>(static_cast<size_t>(number) * components_));
  }
  wake(q.reader);
}

// The step that received is over: its credit and the memory of its message are the sender's again.
void Machine::give_back(LaneRun& l, Queue& q) {
  q.head++;
  wake(q.writer);
  const Message& m = messages_[static_cast<size_t>(l.message)];
  l.message = -1;
  if (!claim_.by_reference) return;
  for (const int p : m.lent) {
    if (p >= 0) loans_[static_cast<size_t>(p)]--;
  }
  std::vector<int>& waiters = loan_waiters_[static_cast<size_t>(m.from)];
  for (const int lane : waiters) {
    lanes_[static_cast<size_t>(lane)].waits_for_loan = false;
    wake(lane);
  }
  waiters.clear();
}

// Vector clocks: an access must come, by messages, after those of other lanes that it conflicts
// with.
bool Machine::ordered(const LaneRun& l, int lane, int place, bool write) {
  if (l.component < 0) return true;
  Access& a = accesses_[static_cast<size_t>(place)];
  const int* seen = clock(lane);
  int bad = a.writer >= 0 && a.writer != l.component && seen[a.writer] < a.time ? a.writer : -1;
  int when = a.time;
  auto mine = a.readers.end();
  for (auto i = a.readers.begin(); i != a.readers.end(); ++i) {
    if (i->first == l.component) mine = i;
    if (write && i->first != l.component && seen[i->first] < i->second) {
      bad = i->first;
      when = i->second;
    }
  }
  if (bad >= 0) {
    Where other = component_lane_[static_cast<size_t>(bad)];
    const LaneRun& o =
        lanes_[static_cast<size_t>(first_lane_[static_cast<size_t>(other.rank)] + other.lane)];
    other.round = (when - 1) / o.size;
    other.step = (when - 1) % o.size;
    const size_t rank = static_cast<size_t>(l.rank);
    on_scratch_ = place - first_place_[rank] < claim_.programs[rank].scratch_chunks;
    return fail(End::kRace, at(l), other);
  }
  if (write) {
    a.writer = l.component;
    a.time = time(l);
    a.readers.clear();
  } else if (mine != a.readers.end()) {
    mine->second = time(l);
  } else {
    a.readers.emplace_back(l.component, time(l));
  }
  return true;
}

bool Machine::unfinished(int lane) const {
  return lanes_[static_cast<size_t>(lane)].round < claim_.rounds;
}

Machine::Waiting Machine::waiting(int lane) const {
  const LaneRun& l = lanes_[static_cast<size_t>(lane)];
  const FlatStep& s = steps_[static_cast<size_t>(l.first + l.step)];
  Waiting w{.at = at(l)};
  if (s.recv >= 0 && l.message < 0) {
    w.stream = s.recv;
    w.receives = true;
    w.on = queues_[static_cast<size_t>(s.recv)].writer;
    return w;
  }
  const int dst = s.dst < 0 ? -1 : s.dst + l.round * s.dst_stride;
  if (dst < 0 || !claim_.by_reference || loans_[static_cast<size_t>(dst)] == 0) {
    w.stream = s.send;
    w.on = queues_[static_cast<size_t>(s.send)].reader;
    return w;
  }
  for (size_t i = 0; i < queues_.size(); i++) {  // who has the message that lies in the chunk?
    const Queue& q = queues_[i];
    for (int k = q.head; k < q.tail; k++) {
      const Message& m = messages_[static_cast<size_t>(q.base + k)];
      if (m.lent[0] == dst || m.lent[1] == dst) w.on = q.reader;
    }
  }
  return w;
}

Machine::Id Machine::output(Rank rank, int chunk, int round) const {
  int stride = 0;
  const int first = place(rank, out(chunk), stride);
  return memory_[static_cast<size_t>(first + round * stride)];
}

Where Machine::writer_of_output(Rank rank, int chunk, int round) const {
  int stride = 0;
  const int first = place(rank, out(chunk), stride);
  return writers_[static_cast<size_t>(first + round * stride)];
}

}  // namespace accl::verify_detail
