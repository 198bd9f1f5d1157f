// How the threads of all processes of a test meet: barrier, reduction, the unique id, the list of
// devices. It is the tool's own shared memory, so that what is measured is not used to measure.
//
// Owned by main(); every thread calls it with its own member number (process * threads + thread).
// All of a team call barrier(), reduce() and sum() in the same order.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace accl::perf {

enum class Reduce { kFirst, kMean, kMin, kMax, kSum };

/// What rank 0 prints of every rank before the table.
struct RankLine {
  int pid = 0;
  int device = 0;
  int core = -1;  ///< -1: not pinned
  std::array<char, 64> host{};
  std::array<char, 96> name{};
};

class Team {
 public:
  /// Creates the memory for `members` threads with `ranks` ranks in all. With `inheritable` its
  /// descriptor survives exec (fd()). Null when the system gives no memory; errno says why.
  static std::unique_ptr<Team> create(int members, int ranks, bool inheritable);
  /// Maps the memory that the process which started this one has created.
  static std::unique_ptr<Team> join(int fd, int members, int ranks);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int fd() const { return fd_; }
  /// Waits for all members. False when one of the processes has failed: leave at once.
  [[nodiscard]] bool barrier();
  /// Combines one value of each member; all get the same. False as for barrier().
  [[nodiscard]] bool reduce(int member, double& value, Reduce how);
  /// Tells everybody that the test is over, and with which exit code (not 0; the first one counts).
  /// Whoever waits in barrier() returns.
  void fail(int code);
  /// That code; 0 while all is well.
  int failure() const;
  /// Room for ncclUniqueId, written by member 0 before a barrier().
  void* unique_id();
  RankLine& line(int rank);

 private:
  struct Header;
  struct alignas(128) Slot {
    double value = 0;
  };
  Team(void* memory, size_t bytes, int fd, int members);

  void* memory_;
  size_t bytes_;
  int fd_;
  int members_;
  int spins_before_yield_;
  Header* header_;
  Slot* slots_;
  RankLine* lines_;
};

}  // namespace accl::perf
