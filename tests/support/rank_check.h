// What a rank of a test finds wrong: printed with the rank's number and remembered, so that the
// rank goes on and its exit code says it. One rank's thread; nothing here is thread-safe.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "accl/device.h"
#include "accl/nccl.h"
#include "tests/support/ranks.h"

namespace accl {

class RankCheck {
 public:
  explicit RankCheck(int rank) : rank_(rank) {}

  /// `good` must hold.
  bool that(bool good, const std::string& what) {
    if (!good) complain(what);
    return good;
  }
  /// The call must succeed. Allocates only if it does not (tests count allocations).
  bool ok(ncclResult_t result, const char* what) {
    if (result == ncclSuccess) return true;
    return that(false,
                what + (": result " + std::to_string(result)) + ", " + ncclGetLastError(nullptr));
  }
  bool ok(acclError_t result, const char* what) {
    if (result == acclSuccess) return true;
    return that(false, std::string(what) + ": " + acclGetErrorString(result));
  }
  bool ok(ncclResult_t result, const std::string& what) { return ok(result, what.c_str()); }
  /// The call must fail with `wanted` and a last error that contains every one of `parts`.
  bool refused(ncclResult_t result, ncclResult_t wanted, const std::vector<std::string>& parts,
               const std::string& what) {
    const std::string text = ncclGetLastError(nullptr);
    bool good = that(result == wanted, what + ": result " + std::to_string(result) +
                                           " instead of " + std::to_string(wanted) + ", " + text);
    for (const std::string& part : parts) {
      good &= that(text.find(part) != std::string::npos,
                   what + ": '" + part + "' is not in '" + text + "'");
    }
    return good;
  }
  /// 0, or 1 if anything was wrong: the rank's exit code.
  int code() const { return failures_ > 0 ? 1 : 0; }

 private:
  void complain(const std::string& what) {
    constexpr int kShown = 10;
    if (++failures_ <= kShown) fprintf(stderr, "rank %d: %s\n", rank_, what.c_str());
  }

  int rank_;
  int failures_ = 0;
};

/// What the ranks of a test are.
enum class RankKind { kProcesses, kThreads };

inline std::string name_of(RankKind kind) {
  return kind == RankKind::kProcesses ? "Processes" : "Threads";
}

/// Runs `body` as `count` ranks, as processes or as threads of one (forked) process. True if every
/// rank returned 0 within the deadline.
inline bool run_ranks(RankKind kind, int count, const Ranks::Body& body,
                      std::chrono::seconds deadline = std::chrono::seconds(60)) {
  if (kind == RankKind::kProcesses) {
    return Ranks::run(count, body, deadline) == ExitCodes(static_cast<size_t>(count), 0);
  }
  const auto all_threads = [&](int, Blackboard& board) {
    std::vector<int> codes(static_cast<size_t>(count), -1);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count; rank++) {
      threads.emplace_back([&, rank] { codes[static_cast<size_t>(rank)] = body(rank, board); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const int code : codes) {
      if (code != 0) return code;
    }
    return 0;
  };
  return Ranks::run(1, all_threads, deadline) == ExitCodes{0};
}

/// Ranks that make and end a communicator around `body`, which gets the communicator.
using CommBody = std::function<void(int rank, ncclComm_t comm, RankCheck& check)>;

inline bool run_with_comm(RankKind kind, int count, const CommBody& body,
                          std::chrono::seconds deadline = std::chrono::seconds(60)) {
  const auto rank_body = [&](int rank, Blackboard& board) {
    RankCheck check(rank);
    ncclComm_t comm = nullptr;
    if (!check.ok(join_ranks(&comm, count, rank, board), "init")) return 1;
    body(rank, comm, check);
    check.ok(ncclCommDestroy(comm), "destroy");
    return check.code();
  };
  return run_ranks(kind, count, rank_body, deadline);
}

/// The communicator's failure as every rank sees it, without the name of a call before it; "" if it
/// has none.
inline std::string failure_text(ncclComm_t comm, ncclResult_t* code = nullptr) {
  ncclResult_t failure = ncclSuccess;
  if (ncclCommGetAsyncError(comm, &failure) != ncclSuccess) return "no answer";
  if (code != nullptr) *code = failure;
  return failure == ncclSuccess ? "" : ncclGetLastError(comm);
}

}  // namespace accl
