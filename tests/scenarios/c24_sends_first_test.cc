// C24: everybody sends before anybody receives.
#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/support/rank_check.h"

namespace accl {
namespace {

constexpr int kRanks = 8;
constexpr size_t kWords = (size_t{16} << 20) / sizeof(uint64_t);  // to each peer

uint64_t value(int turn, int from, int to, size_t i) {
  return (static_cast<uint64_t>(turn * 64 + from * 8 + to) << 40) + i;
}

// One buffer to send from, with a mark per peer, so that eight ranks fit into small machines.
struct Buffers {
  std::vector<uint64_t> out = std::vector<uint64_t>(kRanks * kWords);
  std::vector<uint64_t> in = std::vector<uint64_t>(kRanks * kWords);
};

constexpr size_t kProbes[] = {0, 1, kWords / 3, kWords / 2, kWords - 1};

void exchange(int turn, int rank, Buffers& buffers, ncclComm_t comm, RankCheck& check) {
  const auto at = [](std::vector<uint64_t>& all, int peer) {
    return all.data() + static_cast<size_t>(peer) * kWords;
  };
  for (int peer = 0; peer < kRanks; peer++) {
    for (const size_t i : kProbes) at(buffers.out, peer)[i] = value(turn, rank, peer, i);
  }
  const auto send_all = [&] {
    for (int peer = 0; peer < kRanks; peer++) {
      if (peer == rank) continue;
      check.ok(ncclSend(at(buffers.out, peer), kWords, ncclUint64, peer, comm, nullptr), "Send");
    }
  };
  const auto receive_all = [&] {
    for (int peer = kRanks - 1; peer >= 0; peer--) {
      if (peer == rank) continue;
      check.ok(ncclRecv(at(buffers.in, peer), kWords, ncclUint64, peer, comm, nullptr), "Recv");
    }
  };
  check.ok(ncclGroupStart(), "GroupStart");
  if (turn % 2 == 0) send_all();
  receive_all();
  if (turn % 2 == 1) send_all();
  check.ok(ncclGroupEnd(), "GroupEnd");
  for (int peer = 0; peer < kRanks; peer++) {
    if (peer == rank) continue;
    for (const size_t i : kProbes) {
      check.that(at(buffers.in, peer)[i] == value(turn, peer, rank, i),
                 "turn " + std::to_string(turn) + ": wrong data from " + std::to_string(peer));
    }
  }
}

// The scenario's box has two cores.
void keep_to_two_cores() {
  cpu_set_t all;
  cpu_set_t two;
  CPU_ZERO(&two);
  sched_getaffinity(0, sizeof all, &all);
  for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&two) < 2; core++) {
    if (CPU_ISSET(core, &all)) CPU_SET(core, &two);
  }
  sched_setaffinity(0, sizeof two, &two);
}

void all_turns(int turns, int rank, ncclComm_t comm, RankCheck& check) {
  Buffers buffers;
  for (int turn = 0; turn < turns && check.code() == 0; turn++) {
    exchange(turn, rank, buffers, comm, check);
  }
}

TEST(ScenarioC24, EverybodySendsBeforeReceiving) {
  keep_to_two_cores();
  constexpr int kTurns = test::kSanitized ? 2 : 50;
  EXPECT_TRUE(run_with_comm(
      RankKind::kProcesses, kRanks,
      [](int rank, ncclComm_t comm, RankCheck& check) { all_turns(kTurns, rank, comm, check); },
      std::chrono::seconds(100)));
}

TEST(ScenarioC24, EverybodySendsBeforeReceivingWithinAProcess) {
  keep_to_two_cores();
  EXPECT_TRUE(run_with_comm(
      RankKind::kThreads, kRanks,
      [](int rank, ncclComm_t comm, RankCheck& check) { all_turns(4, rank, comm, check); },
      std::chrono::seconds(60)));
}

}  // namespace
}  // namespace accl
