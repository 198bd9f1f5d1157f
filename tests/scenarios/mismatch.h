// Ranks that call different things: what the scenarios E01 to E04 share. A rank's own process.
#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/rank_check.h"

namespace accl {

/// What became of a rank whose call did not fit those of the others.
struct Verdict {
  std::string text;     ///< of the failure, without the name of a call
  int64_t took_ms = 0;  ///< from the call to the failure
  int result = -1;      ///< of the call
  int code = -1;        ///< of the communicator
};

/// The call that rank `rank` makes; stream NULL.
using MismatchedCall = std::function<ncclResult_t(int rank, ncclComm_t comm)>;

struct MismatchTest {
  int ranks = 2;
  int calls_before = 0;  ///< AllReduces that fit
  const char* check_mode = "DEFAULT";
  int op_timeout_s = 5;
};

/// How long finding a mismatch may take: a second, three on a machine that is known to be loaded.
inline int64_t mismatch_limit_ms() { return std::getenv("CI") != nullptr ? 3000 : 1000; }

namespace detail {

// A rank that has only to send (a Broadcast's root) may be done before the others have come: it
// hears of the mismatch a moment later.
inline void remember(int rank, Blackboard& board, ncclComm_t comm, ncclResult_t result,
                     std::chrono::steady_clock::time_point start) {
  using Clock = std::chrono::steady_clock;
  ncclResult_t code = ncclSuccess;
  std::string text = failure_text(comm, &code);
  while (text.empty() && Clock::now() - start < std::chrono::seconds(5)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    text = failure_text(comm, &code);
  }
  auto& slot = board.slots[static_cast<size_t>(rank)];
  slot.number.store(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
  slot.stage.store(static_cast<int>(result) * 100 + static_cast<int>(code));
  say(rank, board, text);
}

}  // namespace detail

/// Runs `call` after some that fit; one verdict per rank, empty if a rank did not end by itself.
inline std::vector<Verdict> run_mismatch(const MismatchTest& test, const MismatchedCall& call) {
  const auto body = [&](int rank, Blackboard& board) {
    setenv("NCCL_CHECK_MODE", test.check_mode, 1);
    setenv("ACCL_OP_TIMEOUT", std::to_string(test.op_timeout_s).c_str(), 1);
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, test.ranks, rank, board), "init")) return 1;
    for (int i = 0; i < test.calls_before; i++) {
      int value = 1;
      check.ok(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr),
               "a call that fits");
      check.that(value == test.ranks, "a sum that fits");
    }
    const auto start = std::chrono::steady_clock::now();
    const ncclResult_t result = call(rank, comm);
    detail::remember(rank, board, comm, result, start);
    check.ok(ncclCommAbort(comm), "abort");
    return check.code();
  };
  Ranks ranks;
  ranks.start(test.ranks, body);
  const ExitCodes codes = ranks.wait(std::chrono::seconds(30));
  if (codes != ExitCodes(static_cast<size_t>(test.ranks), 0)) return {};
  std::vector<Verdict> verdicts;
  for (int rank = 0; rank < test.ranks; rank++) {
    const auto& slot = ranks.board().slots[static_cast<size_t>(rank)];
    verdicts.push_back(
        {ranks.text(rank), slot.number.load(), slot.stage.load() / 100, slot.stage.load() % 100});
  }
  return verdicts;
}

}  // namespace accl
