// C02: an exchange of uneven sizes, half of them 0, that change from turn to turn.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/base/rng.h"
#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"

namespace accl {
namespace {

constexpr int kRanks = 4;
constexpr int kTurns = test::kSanitized ? 200 : 2000;

struct Sizes {
  size_t count[kRanks][kRanks] = {};  // [from][to]
};

// Every rank draws the same. Now and then somebody has nothing at all to send, or to receive.
Sizes draw(Rng& rng) {
  Sizes sizes;
  for (auto& row : sizes.count) {
    for (size_t& count : row) {
      count = rng.below(2) == 0 ? 0 : 1 + rng.below(rng.below(8) == 0 ? 20000 : 200);
    }
  }
  const auto who = static_cast<size_t>(rng.below(kRanks));
  switch (rng.below(4)) {
    case 0:
      for (size_t& count : sizes.count[who]) count = 0;
      break;
    case 1:
      for (auto& row : sizes.count) row[who] = 0;
      break;
    default:
      break;
  }
  return sizes;
}

int value(int turn, int from, int to, size_t i) {
  return turn * 1000003 + from * 131 + to * 17 + static_cast<int>(i);
}

void exchange(int turn, int rank, const Sizes& sizes, ncclComm_t comm, RankCheck& check) {
  const auto me = static_cast<size_t>(rank);
  std::vector<int> in[kRanks];
  std::vector<int> out[kRanks];
  check.ok(ncclGroupStart(), "GroupStart");
  for (int peer = 0; peer < kRanks; peer++) {
    const auto p = static_cast<size_t>(peer);
    for (size_t i = 0; i < sizes.count[me][p]; i++) in[p].push_back(value(turn, rank, peer, i));
    out[p].assign(sizes.count[p][me] + 1, -1);
    const bool skips = (turn + rank + peer) % 2 == 0;  // an empty pair may also be left out by both
    if (sizes.count[me][p] > 0 || !skips) {
      check.ok(ncclSend(in[p].data(), in[p].size(), ncclInt, peer, comm, nullptr), "Send");
    }
    if (sizes.count[p][me] > 0 || !skips) {
      check.ok(ncclRecv(out[p].data(), sizes.count[p][me], ncclInt, peer, comm, nullptr), "Recv");
    }
  }
  check.ok(ncclGroupEnd(), "GroupEnd");
  for (int peer = 0; peer < kRanks; peer++) {
    const std::vector<int>& got = out[static_cast<size_t>(peer)];
    const size_t count = got.size() - 1;
    bool right = got[count] == -1;
    for (size_t i = 0; i < count; i++) right &= got[i] == value(turn, peer, rank, i);
    check.that(right, "turn " + std::to_string(turn) + ": wrong data from " + std::to_string(peer));
  }
}

TEST(ScenarioC02, ZeroAndNonZeroPairsInOneGroup) {
  EXPECT_TRUE(
      run_with_comm(RankKind::kProcesses, kRanks, [](int rank, ncclComm_t comm, RankCheck& check) {
        Rng rng(2);
        for (int turn = 0; turn < kTurns && check.code() == 0; turn++) {
          exchange(turn, rank, draw(rng), comm, check);
        }
      }));
}

}  // namespace
}  // namespace accl
