#include "src/plan/verify_diagnose.h"

#include <fmt/format.h>

namespace accl::verify_detail {
namespace {

std::string stream_name(const StreamUse& s) {
  return fmt::format("stream {} from rank {} to rank {}", s.number, s.from, s.to);
}

std::string output_name(const Judgement& j) {
  return fmt::format("out[{}] of rank {}{}", j.chunk, j.rank,
                     j.round > 0 ? fmt::format(" in round {}", j.round) : "");
}

Verdict lost(const Claim& claim, const StreamUse& s) {
  return {Bug::kLostMessage,
          fmt::format("{} waits for message {} of {}, on which {} are sent",
                      describe(claim, s.last_recv), s.recvs, stream_name(s), s.sends)};
}

Verdict extra(const Claim& claim, const StreamUse& s) {
  return {Bug::kExtraMessage,
          fmt::format("{} sends message {} of {}, of which {} are received",
                      describe(claim, s.last_send), s.sends, stream_name(s), s.recvs)};
}

// A message on `sent` that is awaited on `awaited`; one of the two ends is wrong.
Verdict astray(const Claim& claim, const StreamUse& sent, const StreamUse& awaited) {
  const bool same_pair = sent.from == awaited.from && sent.to == awaited.to;
  Mender mender(claim);
  Where where;
  bool receives = false;
  if (sent.from == awaited.from) where = mender.redirected(sent, awaited, false);
  if (!where && sent.to == awaited.to) {
    where = mender.redirected(awaited, sent, true);
    receives = static_cast<bool>(where);
  }
  if (!where) where = sent.last_send;
  return {same_pair ? Bug::kWrongStream : Bug::kMisdirectedMessage,
          receives ? fmt::format("{} receives from {}; the message comes on {}",
                                 describe(claim, where), stream_name(awaited), stream_name(sent))
                   : fmt::format("{} sends on {}; the message is awaited on {}",
                                 describe(claim, where), stream_name(sent), stream_name(awaited))};
}

Verdict unordered(const Claim& claim, const Machine& machine) {
  const Where at = machine.where();
  const Where before = machine.before();
  const std::string text = fmt::format("{} touches a chunk in no order with {}",
                                       describe(claim, at), describe(claim, before));
  Mender mender(claim);
  if (machine.on_scratch()) {
    Claim once = claim;
    once.rounds = 1;
    if (holds(once)) return {Bug::kScratchReusedEarly, "between rounds, " + text};
    for (const Where end : {at, before}) {
      const Step& s = mender.step(end);
      for (const Loc loc : {s.src, s.dst}) {
        if (loc.where() != Buffer::kScratch) continue;
        if (mender.lane_scratch(end.rank, end.lane, loc)) return {Bug::kScratchReusedEarly, text};
      }
    }
  }
  if (mender.sewn(at.rank, at.lane, before.lane)) return {Bug::kSplitLane, text};
  if (machine.on_scratch()) return {Bug::kScratchReusedEarly, text};
  if (const Where wrong = mender.other_chunk()) {
    return {Bug::kWrongChunk, describe(claim, wrong) + " has a wrong chunk: " + text};
  }
  return {Bug::kSplitLane, text};
}

std::string describe_wait(const Claim& claim, const Machine& m, int lane) {
  const Machine::Waiting w = m.waiting(lane);
  const std::string step = describe(claim, w.at);
  if (w.stream < 0) return fmt::format("{} waits until a peer has read the chunk it stores", step);
  const StreamUse& s = m.streams()[static_cast<size_t>(w.stream)];
  return fmt::format("{} waits for {} rank {}", step,
                     w.receives ? "a message from" : "room for a message to",
                     w.receives ? s.from : s.to);
}

// The lanes that wait for each other, from one of them round to itself; at most four are named.
std::string describe_cycle(const Claim& claim, const Machine& m) {
  int lane = 0;
  while (lane < m.lanes() && !m.unfinished(lane)) lane++;
  for (int i = 0; i < m.lanes(); i++) {  // walk until surely on the cycle
    const int next = m.waiting(lane).on;
    if (next < 0 || !m.unfinished(next)) break;
    lane = next;
  }
  std::string text = describe_wait(claim, m, lane);
  int length = 1;
  for (int at = m.waiting(lane).on; at >= 0 && at != lane && length <= m.lanes();
       at = m.waiting(at).on) {
    if (!m.unfinished(at)) break;
    length++;
    if (length <= 4) text += "; " + describe_wait(claim, m, at);
  }
  if (length > 4) text += fmt::format("; and {} more round to the first", length - 4);
  return text;
}

Verdict wrong_values(const Claim& claim, const Machine& m, const Judgement& j);

Verdict stuck(const Claim& claim, const Machine& machine) {
  const std::string cycle = describe_cycle(claim, machine);
  if (claim.by_reference) {
    Claim copied = claim;
    copied.by_reference = false;
    if (holds(copied)) {
      return {Bug::kByReferenceOverwritten, "only by reference: " + cycle};
    }
  }
  Machine again(claim);
  if (again.run(claim.credits + 1) == End::kDone && judge(claim, again).right) {
    return {Bug::kNeedsCreditTwo, fmt::format("with credit {}, not with {}: {}", claim.credits,
                                              claim.credits + 1, cycle)};
  }
  const End end = again.run(0);
  if (end != End::kDone) return {Bug::kReceiveFirstCycle, cycle};
  const Judgement j = judge(claim, again);
  if (j.right || !j.wrong_values()) {
    return {Bug::kNeedsCreditTwo,
            fmt::format("with credit {} and with {}: {}", claim.credits, claim.credits + 1, cycle)};
  }
  Claim roomy = claim;
  roomy.credits = 1 << 20;
  return wrong_values(roomy, again, j);
}

std::string describe_values(const Judgement& j) {
  std::string what;
  const auto add = [&](bool is, const char* text) {
    if (!is) return;
    if (!what.empty()) what += " and ";
    what += text;
  };
  add(j.lacks, "lacks contributions");
  add(j.twice, "has a contribution twice");
  add(j.foreign, "holds another chunk");
  return output_name(j) + " " + what;
}

// An output with wrong contributions: which single change makes it right?
Verdict wrong_values(const Claim& claim, const Machine& m, const Judgement& j) {
  const std::string what = describe_values(j);
  if (claim.in_place) {
    Claim apart = claim;
    apart.in_place = false;
    if (holds(apart)) {
      const Where read = m.stale_input() ? m.stale_input() : j.where;
      return {Bug::kInPlaceOverwritten,
              fmt::format("{} reads `in` after {} overwrote it: {}", describe(claim, read),
                          describe(claim, m.stale_because()), what)};
    }
  }
  Mender mender(claim);
  Where at;
  const auto verdict = [&](Bug bug, const char* how) {
    return Verdict{bug, fmt::format("{} {}: {}", describe(claim, at), how, what)};
  };
  if (!j.foreign && !j.twice && (at = mender.added_operand())) {
    return verdict(Bug::kMissingReduction, "takes its message and reduces it with nothing");
  }
  if (!j.foreign && j.twice && (at = mender.dropped_operand())) {
    return verdict(Bug::kDoubledReduction, "adds what its message has already");
  }
  if ((at = mender.own_scratch())) {
    return verdict(Bug::kScratchReusedEarly, "stores to scratch that is still needed");
  }
  if ((at = mender.other_chunk())) {
    return verdict(Bug::kWrongChunk, "has a wrong chunk");
  }
  if ((at = mender.exchanged_steps())) {
    return verdict(Bug::kSwappedMessages, "and a later step of its lane are exchanged");
  }
  at = j.where;
  if (j.foreign) return verdict(Bug::kWrongChunk, "stored or made the wrong value");
  if (j.twice) return verdict(Bug::kDoubledReduction, "made or stored the wrong value");
  return verdict(Bug::kMissingReduction, "stored the wrong value");
}

const char* operation_fault(Bug bug) {
  switch (bug) {
    case Bug::kPreMissing:
      return "takes a contribution that was not loaded from `in`";
    case Bug::kPreDoubled:
      return "applies the pre-operation to what has had it";
    case Bug::kPreEarly:
      return "applies the pre-operation to a partial result";
    case Bug::kFinalMissing:
      return "stored the result without `final`";
    case Bug::kFinalDoubled:
      return "finishes what is finished, or what nobody finishes in this collective";
    case Bug::kFinalEarly:
      return "adds to a finished value";
    case Bug::kWrongChunk:
      return "loads what nobody stored, or stores where another size or no buffer is";
    default:
      return "made another expression than the other ranks, or than the rank order";
  }
}

}  // namespace

std::optional<Verdict> explain_counts(const Claim& claim, const Machine& machine) {
  const StreamUse* sent = nullptr;     // more than received
  const StreamUse* awaited = nullptr;  // more than sent
  for (const StreamUse& s : machine.streams()) {
    if (s.sends > s.recvs && !sent) sent = &s;
    if (s.sends < s.recvs && !awaited) awaited = &s;
  }
  if (!sent && !awaited) return std::nullopt;
  if (!sent) return lost(claim, *awaited);
  if (!awaited) return extra(claim, *sent);
  // A pair of one too many and one too few with an end in common is one message astray.
  const auto likeness = [](const StreamUse& a, const StreamUse& b) {
    return (a.from == b.from ? 1 : 0) + (a.to == b.to ? 1 : 0);
  };
  for (const StreamUse& s : machine.streams()) {
    if (s.sends <= s.recvs) continue;
    for (const StreamUse& a : machine.streams()) {
      if (a.sends >= a.recvs || likeness(s, a) <= likeness(*sent, *awaited)) continue;
      sent = &s;
      awaited = &a;
    }
  }
  if (likeness(*sent, *awaited) == 0) return lost(claim, *awaited);
  return astray(claim, *sent, *awaited);
}

std::optional<Verdict> explain_shared_ends(const Claim& claim, const Machine& machine) {
  Mender mender(claim);
  for (const StreamUse& s : machine.streams()) {
    const bool writers = s.second_writer >= 0;
    if (!writers && s.second_reader < 0) continue;
    const Rank rank = writers ? s.from : s.to;
    const int first = writers ? s.writer : s.reader;
    const int second = writers ? s.second_writer : s.second_reader;
    const std::string text =
        fmt::format("rank {} lanes {} and {} both {} {}, the latter in {}", rank, first, second,
                    writers ? "send on" : "receive from", stream_name(s),
                    describe(claim, writers ? s.last_send : s.last_recv));
    if (mender.sewn(rank, first, second)) return Verdict{Bug::kSplitLane, text};
    return Verdict{writers ? Bug::kTwoWriters : Bug::kTwoReaders, text};
  }
  return std::nullopt;
}

Verdict explain_run(const Claim& claim, const Machine& machine, End end) {
  if (end == End::kStuck) return stuck(claim, machine);
  if (end == End::kRace) return unordered(claim, machine);
  if (end == End::kOverwritten) {
    return {Bug::kByReferenceOverwritten,
            fmt::format("{} stores to a chunk that a peer may still read, sent after {}",
                        describe(claim, machine.where()), describe(claim, machine.before()))};
  }
  const Judgement j = judge(claim, machine);
  if (j.wrong_values()) return wrong_values(claim, machine, j);
  const Bug kind = j.kind.value_or(Bug::kReorderedReduction);
  Where where = j.where;
  if (kind == Bug::kReorderedReduction) {
    Mender mender(claim);
    if (const Where turned = mender.exchanged_operands()) where = turned;
  }
  return {kind, fmt::format("{} {}{}", describe(claim, where), operation_fault(kind),
                            j.chunk >= 0 ? ": " + output_name(j) : "")};
}

}  // namespace accl::verify_detail
