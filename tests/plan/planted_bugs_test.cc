// The test of the checker: it must see every planted bug and call it by its name, and must not let
// any other change pass that changes what the programs compute.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/base/rng.h"
#include "src/plan/verify.h"
#include "src/plan/verify_plant.h"
#include "tests/plan/interpret.h"

namespace accl {
namespace {

TEST(PlantedBugs, EachIsReportedAsItsKindWithItsPlace) {
  for (const PlantedBug& bug : planted_bugs()) {
    SCOPED_TRACE(bug.name());
    EXPECT_FALSE(holds(bug.claim()));
    const auto verdict = verify(bug.claim());
    ASSERT_TRUE(verdict.has_value());
    EXPECT_EQ(name_of(verdict->kind), name_of(bug.kind)) << verdict->text;
    EXPECT_NE(verdict->text.find("rank "), std::string::npos) << verdict->text;
    EXPECT_NE(verdict->text.find("lane"), std::string::npos) << verdict->text;
    EXPECT_NE(verdict->text.find("step "), std::string::npos) << verdict->text;
  }
}

TEST(PlantedBugs, EveryKindIsPlantedInThreeAlgorithmsOrMore) {
  std::map<Bug, std::set<Algorithm>> algorithms;
  for (const PlantedBug& bug : planted_bugs()) algorithms[bug.kind].insert(bug.spec.algorithm);
  for (int i = 1; i < kBugs; i++) {
    const Bug bug = static_cast<Bug>(i);
    EXPECT_GE(algorithms[bug].size(), 3U) << name_of(bug);
  }
}

TEST(PlantedBugs, ThePlantedBugIsTheOnlyOne) {
  for (const PlantedBug& bug : planted_bugs()) {
    const std::vector<Program> right = programs_of(bug.spec);
    if (right == bug.programs) continue;  // there, the claim is the bug
    Claim claim = bug.claim();
    claim.programs = right;
    claim.waits = true;
    const auto verdict = verify(claim);
    EXPECT_FALSE(verdict.has_value()) << bug.name() << ": " << verdict->text;
  }
}

// One random change of one step.
void mutate(std::vector<Program>& programs, Rng& rng) {
  const auto pick = [&](size_t below) { return static_cast<size_t>(rng.below(below)); };
  Program& p = programs[pick(programs.size())];
  if (p.lanes.empty()) return;
  Lane& lane = p.lanes[pick(p.lanes.size())];
  if (lane.empty()) return;
  const size_t at = pick(lane.size());
  Step& s = lane[at];
  const auto any_port = [&] {
    return static_cast<int16_t>(static_cast<int>(pick(p.ports.size() + 1)) - 1);
  };
  const auto any_chunk = [&]() -> Loc {
    switch (pick(4)) {
      case 0:
        return in(static_cast<int>(pick(static_cast<size_t>(p.in_chunks))));
      case 1:
        return out(static_cast<int>(pick(static_cast<size_t>(p.out_chunks))));
      case 2:
        if (p.scratch_chunks == 0) return {};
        return scratch(static_cast<int>(pick(static_cast<size_t>(p.scratch_chunks))));
      default:
        return {};
    }
  };
  switch (pick(8)) {
    case 0:
      s.recv = any_port();
      break;
    case 1:
      s.send = any_port();
      break;
    case 2:
      s.src = any_chunk();
      break;
    case 3:
      s.dst = any_chunk();
      break;
    case 4:
      s.src.left = !s.src.left;
      break;
    case 5:
      s.dst.final_value = !s.dst.final_value;
      break;
    case 6:
      lane.erase(lane.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    default:
      std::swap(s, lane[pick(lane.size())]);
  }
}

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

bool well_formed(const Claim& claim) {
  const auto verdict = verify(claim);
  return !verdict || verdict->kind != Bug::kMalformed;
}

// The interpreter computes numbers and knows nothing of the checker. What the checker lets pass
// must be right there, and what the interpreter finds wrong the checker must refuse.
TEST(PlantedBugs, NoRandomChangePassesThatChangesTheResult) {
  const std::vector<ProgramSpec> specs = {
      {Collective::kAllReduce, Algorithm::kRing, 3},
      {Collective::kAllReduce, Algorithm::kTree, 5},
      {Collective::kAllReduce, Algorithm::kDirect, 3},
      {Collective::kAllReduce, Algorithm::kDoubling, 4},
      {Collective::kAllReduce, Algorithm::kFlat, 3},
      {Collective::kAllGather, Algorithm::kPat, 5},
      {Collective::kReduceScatter, Algorithm::kPat, 5},
      {Collective::kReduce, Algorithm::kChain, 4},
      {Collective::kBroadcast, Algorithm::kDoubleTree, 5},
      {Collective::kReduceScatter, Algorithm::kHierarchical, 4},
      {Collective::kAllToAll, Algorithm::kDirect, 3},
  };
  Rng rng(20270101);
  int passed = 0;
  int refused = 0;
  for (const ProgramSpec& spec : specs) {
    const std::vector<Program> right = programs_of(spec);
    for (int i = 0; i < 400; i++) {
      std::vector<Program> programs = right;
      mutate(programs, rng);
      // In place, gathers may read `out` for `in` and need not store their own block: equal values,
      // where the interpreter goes by the letter.
      const bool in_place = reduces(spec.collective) && i % 2 == 1;
      const Claim claim{.collective = spec.collective,
                        .ranks = spec.ranks,
                        .in_place = in_place,
                        .programs = programs};
      if (holds(claim)) {
        passed++;
        const std::string wrong = test::run_and_check(
            programs, spec, {.in_place = in_place, .strict = true, .credit = 1, .rounds = 2});
        EXPECT_EQ(wrong, "") << test::name_of(spec) << ", change " << i;
      } else {
        refused++;
      }
    }
  }
  EXPECT_GT(refused, 2000);
  EXPECT_GT(passed, 50);  // what changes nothing, as a chunk that is not read again
}

TEST(PlantedBugs, EveryRefusalOfARandomChangeHasACause) {
  const ProgramSpec spec{Collective::kAllReduce, Algorithm::kDirect, 3};
  const std::vector<Program> right = programs_of(spec);
  Rng rng(7);
  int explained = 0;
  for (int i = 0; i < 200; i++) {
    std::vector<Program> programs = right;
    mutate(programs, rng);
    const Claim claim{.collective = spec.collective, .ranks = spec.ranks, .programs = programs};
    const auto verdict = verify(claim);
    EXPECT_EQ(holds(claim), !verdict.has_value());
    if (!verdict) continue;
    explained++;
    EXPECT_FALSE(verdict->text.empty()) << name_of(verdict->kind);
    EXPECT_TRUE(well_formed(claim) || verdict->text.find("rank ") == 0) << verdict->text;
  }
  EXPECT_GT(explained, 100);
}

}  // namespace
}  // namespace accl
