#include "src/plan/verify_all.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/plan/verify.h"
#include "src/plan/verify_plant.h"

namespace accl {
namespace {

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce;
}

std::set<Rank> roots(const ProofScope& scope, const ProgramSpec& spec) {
  std::set<Rank> all = {0};
  if (!has_root(spec.collective)) return all;
  if (spec.ranks > scope.all_roots_to) {
    // The ends, the middle, and one that moves with the number of ranks.
    all.insert({spec.ranks / 2, spec.ranks - 1, spec.ranks * 7 % (spec.ranks - 2)});
    return all;
  }
  for (Rank r = 1; r < spec.ranks; r++) all.insert(r);
  return all;
}

std::set<int> groups(const ProgramSpec& spec) {
  std::set<int> all = {0};
  if (spec.algorithm != Algorithm::kHierarchical) return all;
  for (const int g : {2, 3}) {
    if (g <= spec.ranks) all.insert(g);
  }
  return all;
}

std::string describe(const ProgramSpec& spec, const Claim& claim) {
  return fmt::format("{} ranks, root {}{}{}{}", spec.ranks, spec.root,
                     spec.groups > 0 ? fmt::format(", {} groups", spec.groups) : "",
                     claim.in_place ? ", in place" : "",
                     claim.by_reference ? ", by reference" : "");
}

void prove_variants(const ProgramSpec& spec, Proof& proof) {
  const std::vector<Program> programs = programs_of(spec);
  for (const bool in_place : {false, true}) {
    if (in_place && spec.collective == Collective::kAllToAll) continue;
    for (const bool by_reference : {false, true}) {
      const Claim claim{.collective = spec.collective,
                        .ranks = spec.ranks,
                        .root = spec.root,
                        .in_place = in_place,
                        .by_reference = by_reference,
                        .programs = programs};
      const bool copies = by_reference && needs_copies(spec, in_place);
      if (holds(claim) && !copies) {
        proof.proven++;
        continue;
      }
      const auto verdict = verify(claim);
      if (copies && verdict && verdict->kind == Bug::kByReferenceOverwritten) {
        proof.by_copy++;
        continue;
      }
      proof.failures.push_back(describe(spec, claim) + ": " +
                               (verdict
                                    ? fmt::format("{}: {}", name_of(verdict->kind), verdict->text)
                                    : "holds, though it is listed as one that needs copies"));
    }
  }
}

}  // namespace

std::vector<Proof> proofs_to_make() {
  std::vector<Proof> all;
  for (int a = 0; a < kAlgorithms; a++) {
    for (int c = 0; c < kCollectives; c++) {
      Proof proof{.algorithm = static_cast<Algorithm>(a), .collective = static_cast<Collective>(c)};
      if (proof.collective == Collective::kPointToPoint) continue;
      if (supports(proof.algorithm, proof.collective)) all.push_back(std::move(proof));
    }
  }
  return all;
}

void prove(const ProofScope& scope, Proof& proof) {
  ProgramSpec spec{.collective = proof.collective, .algorithm = proof.algorithm};
  for (spec.ranks = 1; spec.ranks <= scope.max_ranks; spec.ranks++) {
    for (const int g : groups(spec)) {
      spec.groups = g;
      for (const Rank root : roots(scope, spec)) {
        spec.root = root;
        prove_variants(spec, proof);
      }
    }
  }
}

}  // namespace accl
