// Ranks as processes, for tests: forks them, hands the unique id around, bounds their life, and
// collects what they say.
//
// The parent makes no communicator itself, so that its children start clean. Rank 0 makes the id.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "accl/nccl.h"

namespace accl {

inline constexpr int kMaxTestRanks = 64;

/// What parent and ranks share.
struct Blackboard {
  struct Slot {
    std::atomic<int> stage{0};      ///< how far the rank has come: the test's own numbers
    std::array<char, 2048> text{};  ///< what it has to say, for example an error's text
    std::atomic<int64_t> number{0};
  };
  std::atomic<int> id_ready{0};
  ncclUniqueId id{};
  std::atomic<int> go{0};  ///< set by the parent or a rank, as the test likes
  std::array<Slot, kMaxTestRanks> slots{};
};

/// How a rank ended: its exit code, or 128 + signal, or -1 when it had to be killed at the
/// deadline.
using ExitCodes = std::vector<int>;

class Ranks {
 public:
  /// The body runs in a forked process; what it returns is the exit code.
  using Body = std::function<int(int rank, Blackboard& board)>;

  Ranks() {
    void* memory = mmap(nullptr, sizeof(Blackboard), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board_ = new (memory) Blackboard;
  }
  ~Ranks() {
    wait(std::chrono::seconds(0));
    munmap(board_, sizeof(Blackboard));
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  void start(int count, const Body& body) {
    fflush(nullptr);
    for (int rank = 0; rank < count; rank++) {
      const pid_t pid = fork();
      if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int code = body(rank, *board_);
        fflush(nullptr);
        _exit(code);
      }
      pids_.push_back(pid);
      codes_.push_back(kRunning);
    }
  }

  /// Waits for all, kills at the deadline who is still there. Repeated calls return the same.
  const ExitCodes& wait(std::chrono::seconds deadline) {
    const auto end = std::chrono::steady_clock::now() + deadline;
    for (size_t i = 0; i < pids_.size(); i++) {
      while (codes_[i] == kRunning && !reap(i)) {
        if (std::chrono::steady_clock::now() >= end) {
          ::kill(pids_[i], SIGKILL);
          waitpid(pids_[i], nullptr, 0);
          codes_[i] = -1;
        } else {
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
      }
    }
    return codes_;
  }

  /// Waits until rank `rank` has reached `stage`; false after `deadline`.
  bool await_stage(int rank, int stage, std::chrono::seconds deadline) {
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (board_->slots[static_cast<size_t>(rank)].stage.load() < stage) {
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  void kill(int rank, int signal) { ::kill(pids_[static_cast<size_t>(rank)], signal); }
  pid_t pid(int rank) const { return pids_[static_cast<size_t>(rank)]; }
  Blackboard& board() { return *board_; }
  std::string text(int rank) const { return board_->slots[static_cast<size_t>(rank)].text.data(); }

  /// All ranks, one after the other finished, within the deadline.
  static ExitCodes run(int count, const Body& body,
                       std::chrono::seconds deadline = std::chrono::seconds(60)) {
    Ranks ranks;
    ranks.start(count, body);
    return ranks.wait(deadline);
  }

 private:
  static constexpr int kRunning = -2;

  bool reap(size_t i) {
    int status = 0;
    if (waitpid(pids_[i], &status, WNOHANG) != pids_[i]) return false;
    codes_[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
  }

  Blackboard* board_ = nullptr;
  std::vector<pid_t> pids_;
  ExitCodes codes_;
};

/// In a rank: the id that rank 0 has made.
inline ncclUniqueId shared_id(int rank, Blackboard& board) {
  if (rank == 0) {
    ncclGetUniqueId(&board.id);
    board.id_ready.store(1);
  }
  while (board.id_ready.load() == 0) std::this_thread::yield();
  return board.id;
}

/// In a rank: joins the others.
inline ncclResult_t join_ranks(ncclComm_t* comm, int ranks, int rank, Blackboard& board) {
  return ncclCommInitRank(comm, ranks, shared_id(rank, board), rank);
}

/// In a rank: leaves a text for the parent.
inline void say(int rank, Blackboard& board, const std::string& text) {
  auto& slot = board.slots[static_cast<size_t>(rank)].text;
  std::strncpy(slot.data(), text.c_str(), slot.size() - 1);
}

}  // namespace accl
