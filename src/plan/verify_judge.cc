// What the outputs of a finished run hold, against what the collective promises.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "src/plan/verify_diagnose.h"

namespace accl::verify_detail {
namespace {

using Id = Expressions::Id;

struct Output {
  Rank rank;
  int chunk;
  int round;
};

void blame(Judgement& j, const Output& o, Where where) {
  if (!j.right) return;
  j.right = false;
  j.where = where;
  j.rank = o.rank;
  j.chunk = o.chunk;
  j.round = o.round;
}

// Contributions alone. True if they are right.
bool judge_values(const Machine& m, const Output& o, Judgement& j) {
  const Expressions& e = m.expressions();
  const Id value = m.output(o.rank, o.chunk, o.round);
  const unsigned flags = e.flags(value);
  bool lacks = false;
  bool foreign = (flags & (kForeign | kGarbage)) != 0 ||
                 e.topic(value) != m.right_topic(o.rank, o.chunk, o.round);
  bool twice = (flags & kTwice) != 0;
  if (m.reduces()) {
    lacks = e.contributions(value) < m.ranks();
  } else if (!foreign) {
    foreign = e.contributions(value) != 1 || !e.has(value, m.right_source(o.chunk));
  }
  if (!lacks && !foreign && !twice) return true;
  Where where = m.writer_of_output(o.rank, o.chunk, o.round);
  if (twice && m.first(kTwice)) where = m.first(kTwice);
  if ((flags & kForeign) && m.first(kForeign)) where = m.first(kForeign);
  blame(j, o, where);
  j.lacks |= lacks;
  j.foreign |= foreign;
  j.twice |= twice;
  return false;
}

// Pre- and post-operations of an output whose contributions are right.
void judge_operations(const Machine& m, const Output& o, Judgement& j) {
  struct Case {
    Flag flag;
    Bug bug;
  };
  static constexpr Case kCases[] = {
      {kRaw, Bug::kPreMissing},
      {kPreOnPartial, Bug::kPreEarly},
      {kPreOnDone, Bug::kPreDoubled},
      {kFinalInSum, Bug::kFinalEarly},
      {kFinalOnFinal, Bug::kFinalDoubled},
  };
  const Expressions& e = m.expressions();
  const Id value = m.output(o.rank, o.chunk, o.round);
  const Where writer = m.writer_of_output(o.rank, o.chunk, o.round);
  const auto found = [&](Bug bug, Where where) {
    if (j.right) j.kind = bug;
    blame(j, o, where ? where : writer);
  };
  for (const Case& c : kCases) {
    if (m.reduces() && (e.flags(value) & c.flag)) return found(c.bug, m.first(c.flag));
  }
  if (m.reduces() && e.is_leaf(value)) return found(Bug::kPreMissing, writer);
  if (m.reduces() && !e.finished(value)) return found(Bug::kFinalMissing, writer);
  if (!m.reduces() && e.finished(value)) return found(Bug::kFinalDoubled, m.first_final());
}

// All ranks must hold the same expression; the rank to blame is one of the smallest party.
void judge_order(const Claim& claim, const Machine& m, const Output& o, Judgement& j) {
  std::unordered_map<Id, int> parties;
  for (Rank r = 0; r < claim.ranks; r++) parties[m.output(r, o.chunk, o.round)]++;
  if (parties.size() == 1) return;
  Output odd = o;
  int smallest = claim.ranks + 1;
  for (Rank r = 0; r < claim.ranks; r++) {
    const int size = parties[m.output(r, o.chunk, o.round)];
    if (size >= smallest) continue;
    smallest = size;
    odd.rank = r;
  }
  if (j.right) j.kind = Bug::kReorderedReduction;
  blame(j, odd, m.writer_of_output(odd.rank, odd.chunk, odd.round));
}

template <class F>
void each_output(const Claim& claim, const Machine& m, F f) {
  for (int t = 0; t < claim.rounds; t++) {
    for (Rank r = 0; r < claim.ranks; r++) {
      if (!m.has_output(r)) continue;
      for (int c = 0; c < m.out_chunks(); c++) f(Output{r, c, t});
    }
  }
}

}  // namespace

Judgement judge(const Claim& claim, const Machine& m) {
  Judgement j;
  each_output(claim, m, [&](const Output& o) { judge_values(m, o, j); });
  if (!j.right) return j;
  each_output(claim, m, [&](const Output& o) { judge_operations(m, o, j); });
  if (!j.right) return j;
  if (claim.collective == Collective::kAllReduce) {
    for (int t = 0; t < claim.rounds; t++) {
      for (int c = 0; c < m.out_chunks(); c++) {
        const Id first = m.output(0, c, t);
        for (Rank r = 1; r < claim.ranks; r++) {
          if (m.output(r, c, t) == first) continue;
          judge_order(claim, m, {r, c, t}, j);
          break;
        }
      }
    }
  }
  if (j.right && claim.rank_order && m.reduces()) {
    each_output(claim, m, [&](const Output& o) {
      if (!j.right || m.expressions().in_rank_order(m.output(o.rank, o.chunk, o.round))) return;
      j.kind = Bug::kReorderedReduction;
      blame(j, o, m.writer_of_output(o.rank, o.chunk, o.round));
    });
  }
  for (const Where where : {m.no_buffer(), m.misplaced(), m.unwritten()}) {
    if (!j.right || !where) continue;
    j.kind = Bug::kWrongChunk;
    blame(j, {where.rank, -1, where.round}, where);
  }
  return j;
}

std::string describe(const Claim& claim, Where where) {
  if (!where) return "no step";
  const Program& program = claim.programs[static_cast<size_t>(where.rank)];
  const Step& step =
      program.lanes[static_cast<size_t>(where.lane)][static_cast<size_t>(where.step)];
  return fmt::format("rank {} lane {} step {} ({})", where.rank, where.lane, where.step,
                     to_string(step, program));
}

}  // namespace accl::verify_detail
