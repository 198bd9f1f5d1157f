// Every program that the library can run, up to 24 ranks (accl_proof goes to 64).
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "src/plan/verify_all.h"

namespace accl {
namespace {

class ProofTest : public testing::TestWithParam<int> {};

TEST_P(ProofTest, Holds) {
  Proof proof = proofs_to_make()[static_cast<size_t>(GetParam())];
  prove({.max_ranks = 24, .all_roots_to = 8}, proof);
  for (const std::string& failure : proof.failures) ADD_FAILURE() << failure;
  const int variants = proof.collective == Collective::kAllToAll ? 2 : 4;
  EXPECT_GE(proof.proven + proof.by_copy, 24 * variants);
  EXPECT_LE(proof.by_copy, 1);
}

std::string name_of_case(const testing::TestParamInfo<int>& info) {
  const Proof proof = proofs_to_make()[static_cast<size_t>(info.param)];
  std::string name(name_of(proof.algorithm));
  std::erase(name, '-');
  return name + std::string(name_of(proof.collective));
}

INSTANTIATE_TEST_SUITE_P(All, ProofTest,
                         testing::Range(0, static_cast<int>(proofs_to_make().size())),
                         name_of_case);

TEST(Proof, CoversEveryAlgorithmAndCollective) {
  EXPECT_EQ(proofs_to_make().size(), 26U);
  for (int a = 0; a < kAlgorithms; a++) {
    bool found = false;
    for (const Proof& proof : proofs_to_make()) {
      found |= proof.algorithm == static_cast<Algorithm>(a);
    }
    EXPECT_TRUE(found) << name_of(static_cast<Algorithm>(a));
  }
}

}  // namespace
}  // namespace accl
