#include "src/plan/verify.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace accl {
namespace {

Loc finished(Loc loc) {
  loc.final_value = 1;
  return loc;
}

Loc left(Loc loc) {
  loc.left = 1;
  return loc;
}

// AllReduce of two ranks: each sends its input, and adds what it gets in rank order.
std::vector<Program> exchange() {
  std::vector<Program> programs(2);
  for (Rank r = 0; r < 2; r++) {
    Program& p = programs[static_cast<size_t>(r)];
    const int16_t peer = p.port(1 - r, 0);
    p.lanes = {{{.send = peer, .src = in(0)},
                {.recv = peer, .src = r == 0 ? left(in(0)) : in(0), .dst = finished(out(0))}}};
  }
  return programs;
}

Claim claim_of(const std::vector<Program>& programs) {
  return {.ranks = static_cast<int>(programs.size()), .programs = programs};
}

void expect(const Claim& claim, Bug kind, const std::string& text) {
  EXPECT_FALSE(holds(claim));
  const auto verdict = verify(claim);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(name_of(verdict->kind), name_of(kind)) << verdict->text;
  EXPECT_NE(verdict->text.find(text), std::string::npos) << verdict->text;
}

TEST(Verify, ProvesAnExchange) {
  const auto programs = exchange();
  Claim claim = claim_of(programs);
  EXPECT_TRUE(holds(claim));
  EXPECT_FALSE(verify(claim).has_value());
  claim.in_place = true;
  claim.rank_order = true;
  claim.rounds = 3;
  EXPECT_TRUE(holds(claim));
}

TEST(Verify, NamesEveryKindDifferently) {
  for (int a = 0; a < kBugs; a++) {
    EXPECT_FALSE(name_of(static_cast<Bug>(a)).empty());
    for (int b = 0; b < a; b++) {
      EXPECT_NE(name_of(static_cast<Bug>(a)), name_of(static_cast<Bug>(b)));
    }
  }
}

TEST(Verify, RefusesClaimsAndProgramsOutOfShape) {
  auto programs = exchange();
  Claim claim = claim_of(programs);
  claim.ranks = 3;
  expect(claim, Bug::kMalformed, "2 programs for 3 ranks");
  claim = claim_of(programs);
  claim.root = 2;
  expect(claim, Bug::kMalformed, "root 2");
  claim = claim_of(programs);
  claim.credits = 0;
  expect(claim, Bug::kMalformed, "0 credits");
  claim = claim_of(programs);
  claim.collective = Collective::kAllGather;
  expect(claim, Bug::kMalformed, "layouts");
  claim.collective = Collective::kPointToPoint;
  expect(claim, Bug::kMalformed, "send and receive");

  programs[1].lanes[0][1].dst = out(1);
  expect(claim_of(programs), Bug::kMalformed, "rank 1: lane 0 step 1 has a chunk");
  programs = exchange();
  programs[0].lanes[0][0].send = 4;
  expect(claim_of(programs), Bug::kMalformed, "rank 0: lane 0 step 0 has a port");
  programs = exchange();
  programs[0].ports[0].peer = 2;
  expect(claim_of(programs), Bug::kMalformed, "a port to rank 2");
  programs = exchange();
  programs[0].lanes[0][1].dst = in(0);
  expect(claim_of(programs), Bug::kMalformed, "stores to `in`");
}

TEST(Verify, AnExchangeByReferenceInPlaceOverwritesWhatThePeerReads) {
  const auto programs = exchange();
  Claim claim = claim_of(programs);
  claim.by_reference = true;
  EXPECT_TRUE(holds(claim));
  claim.in_place = true;
  expect(claim, Bug::kByReferenceOverwritten, "only by reference: rank 0 lane 0 step 1");
  claim.waits = false;
  expect(claim, Bug::kByReferenceOverwritten, "stores to a chunk that a peer may still read");
}

TEST(Verify, RanksMustAgreeOnTheOrderOfOperands) {
  auto programs = exchange();
  programs[1].lanes[0][1].src.left = 1;
  expect(claim_of(programs), Bug::kReorderedReduction, "step 1");
  programs[0].lanes[0][1].src.left = 0;  // both the other way round
  Claim claim = claim_of(programs);
  EXPECT_TRUE(holds(claim));
  claim.rank_order = true;
  expect(claim, Bug::kReorderedReduction, "rank order");
}

TEST(Verify, BothReceivingFirstIsACycle) {
  auto programs = exchange();
  for (Program& p : programs) std::swap(p.lanes[0][0], p.lanes[0][1]);
  expect(claim_of(programs), Bug::kReceiveFirstCycle, "rank 1 lane 0 step 0");
}

TEST(Verify, AValueIsNotTakenFromScratchThatNobodyWrote) {
  auto programs = exchange();
  programs[0].scratch_chunks = 1;
  programs[0].lanes[0][0].src = scratch(0);
  expect(claim_of(programs), Bug::kWrongChunk, "rank 0 lane 0 step 0");
}

TEST(Verify, OnlyTheRootOfAReduceHasAnOutput) {
  std::vector<Program> programs(2);
  const int16_t up = programs[1].port(0, 0);
  const int16_t down = programs[0].port(1, 0);
  programs[1].lanes = {{{.send = up, .src = in(0)}}};
  programs[0].lanes = {{{.recv = down, .src = in(0), .dst = finished(out(0))}}};
  Claim claim = claim_of(programs);
  claim.collective = Collective::kReduce;
  EXPECT_TRUE(holds(claim));
  claim.root = 1;
  EXPECT_FALSE(holds(claim));
  claim.root = 0;
  programs[1].lanes[0][0].dst = out(0);
  expect(claim, Bug::kWrongChunk, "rank 1 lane 0 step 0");
}

TEST(Verify, ALaneThatNeedsAnotherOneMustHearFromIt) {
  std::vector<Program> programs(1);
  Program& p = programs[0];
  p.scratch_chunks = 1;
  p.lanes = {{{.src = in(0), .dst = scratch(0)}}, {{.src = scratch(0), .dst = finished(out(0))}}};
  expect(claim_of(programs), Bug::kSplitLane, "in no order with");
  const int16_t self = p.port(0, 0);
  p.lanes = {{{.send = self, .src = in(0), .dst = scratch(0)}},
             {{.recv = self, .dst = finished(out(0))}}};
  EXPECT_TRUE(holds(claim_of(programs)));
}

TEST(Verify, RoundsShareScratch) {
  // Lane 1 reads scratch after lane 0 has said that it is there; nothing keeps lane 0 from
  // overwriting it in the next round.
  std::vector<Program> programs(1);
  Program& p = programs[0];
  p.scratch_chunks = 1;
  const int16_t go = p.port(0, 0);
  p.lanes = {{{.src = in(0), .dst = scratch(0)}, {.send = go, .src = in(0)}},
             {{.recv = go, .dst = out(0)}, {.src = scratch(0), .dst = finished(out(0))}}};
  Claim claim = claim_of(programs);
  claim.rounds = 1;
  EXPECT_TRUE(holds(claim));
  claim.rounds = 2;
  expect(claim, Bug::kScratchReusedEarly, "scratch[0]");
}

}  // namespace
}  // namespace accl
