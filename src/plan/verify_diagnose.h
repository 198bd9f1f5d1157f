// From a failed run to the kind of defect: by what the outputs hold, and by which single change of
// the programs makes the claim true.
//
// Part of the checker (src/plan/verify.h). Pure functions, one thread per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/plan/verify.h"
#include "src/plan/verify_run.h"

namespace accl::verify_detail {

/// What the outputs of a finished run hold.
struct Judgement {
  bool right = true;
  // Of all outputs whose contributions are wrong:
  bool lacks = false;    ///< one misses contributions
  bool twice = false;    ///< one has a contribution more than once
  bool foreign = false;  ///< one is of another chunk, a mixture, or was never written
  // The first wrong one:
  std::optional<Bug> kind;  ///< set where contributions are right and something else is wrong
  Where where;              ///< the step to blame, or the last that stored it
  Rank rank = -1;
  int chunk = 0;
  int round = 0;

  bool wrong_values() const { return lacks || twice || foreign; }
};
Judgement judge(const Claim& claim, const Machine& machine);

/// "rank 2 lane 0 step 5 (recv 1/0 (+) in[3] -> send 3/0)".
std::string describe(const Claim& claim, Where where);

/// A copy of the claim's programs, to be changed a little and tried again. Trying costs steps, of
/// which there is a limited number, so that a diagnosis ends in about a second.
class Mender {
 public:
  explicit Mender(const Claim& claim);
  Mender(const Mender&) = delete;
  Mender& operator=(const Mender&) = delete;

  /// True if the claim holds for the programs as they are now; false when the steps are used up.
  bool works();
  Program& program(Rank rank) { return programs_[static_cast<size_t>(rank)]; }
  Step& step(Where at);
  int ranks() const { return claim_.ranks; }
  const Claim& claim() const { return claim_; }

  // Each finds the first change of its sort that works, and undoes it. Nowhere: there is none.

  Where other_chunk();         ///< another chunk in one place
  Where added_operand();       ///< a reduction where a message is only taken
  Where dropped_operand();     ///< a message only taken where it is reduced
  Where exchanged_operands();  ///< `left` turned round
  Where exchanged_steps();     ///< two steps, or what two steps send, in each other's place
  Where own_scratch();         ///< a scratch chunk of its own for one value
  /// One scratch chunk of its own for all that lane `lane` keeps in `chunk`.
  bool lane_scratch(Rank rank, int lane, Loc chunk);
  /// The two lanes as one, in either order.
  bool sewn(Rank rank, int a, int b);
  /// A send on stream `from` that belongs on `to` (or a receive, with `receives`).
  Where redirected(const StreamUse& from, const StreamUse& to, bool receives);

 private:
  Where each_step(const std::function<bool(Where)>& works);
  std::vector<Loc> chunks(Rank rank) const;
  bool exchange(Where a, Where b);
  bool rename_scratch(Where from, int to_step);

  Claim claim_;
  std::vector<Program> programs_;
  int64_t steps_left_;
  int64_t steps_per_try_ = 0;
};

/// Two lanes at one end of a stream.
std::optional<Verdict> explain_shared_ends(const Claim& claim, const Machine& machine);
/// More sent than received, or the reverse.
std::optional<Verdict> explain_counts(const Claim& claim, const Machine& machine);
/// A run that ended in `end`, or whose outputs are wrong.
Verdict explain_run(const Claim& claim, const Machine& machine, End end);

}  // namespace accl::verify_detail
