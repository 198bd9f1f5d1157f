#include "src/plan/verify.h"

#include <array>

#include "src/plan/verify_diagnose.h"
#include "src/plan/verify_run.h"

namespace accl {

using verify_detail::End;
using verify_detail::Machine;

std::string_view name_of(Bug bug) {
  static constexpr std::array<std::string_view, kBugs> kNames = {
      "malformed program",
      "lost message",
      "extra message",
      "swapped messages",
      "misdirected message",
      "wrong stream",
      "two writers",
      "two readers",
      "split lane",
      "receive-first cycle",
      "needs credit 2",
      "missing reduction",
      "doubled reduction",
      "reordered reduction",
      "wrong chunk",
      "scratch reused early",
      "in-place input overwritten",
      "pre-operation missing",
      "pre-operation doubled",
      "pre-operation early",
      "final missing",
      "final doubled",
      "final early",
      "by-reference source overwritten",
  };
  return kNames[static_cast<size_t>(bug)];
}

bool holds(const Claim& claim) {
  Machine machine(claim);
  if (!machine.malformed().empty() || !machine.sound()) return false;
  return machine.run(claim.credits) == End::kDone && verify_detail::judge(claim, machine).right;
}

std::optional<Verdict> verify(const Claim& claim) {
  Machine machine(claim);
  if (!machine.malformed().empty()) return Verdict{Bug::kMalformed, machine.malformed()};
  if (!machine.sound()) {
    if (auto verdict = verify_detail::explain_counts(claim, machine)) return verdict;
    return verify_detail::explain_shared_ends(claim, machine);
  }
  const End end = machine.run(claim.credits);
  if (end == End::kDone && verify_detail::judge(claim, machine).right) return std::nullopt;
  return verify_detail::explain_run(claim, machine, end);
}

}  // namespace accl
