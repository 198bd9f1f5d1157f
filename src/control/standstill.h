// When no rank of a communicator can go on: every one waits, has looked again, and stands where it
// stood.
//
// Calls that have no common sequence (Send and Recv) cannot be compared with a collective, nor with
// each other, until they meet. But ranks that all wait for one another wait forever, whatever they
// have called: messages through shared memory are there at once, so none can be on its way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/control/board.h"

namespace accl {

/// One rank's watch over all. The thread that drives the communicator.
class Standstill {
 public:
  /// So long must all stand still, and so often must each have looked again meanwhile: a rank whose
  /// process has been stopped may have its message and not know.
  static constexpr uint64_t kNs = 300'000'000;
  static constexpr uint64_t kLooks = 3;

  Standstill() = default;
  explicit Standstill(int ranks) : seen_(static_cast<size_t>(ranks)) {}

  /// True once nobody can go on. To be called again and again; does not allocate.
  bool observe(const Board& board, uint64_t now_ns);

 private:
  struct Seen {
    uint64_t mark = 0;
    uint64_t looks = 0;
  };
  std::vector<Seen> seen_;
  uint64_t since_ns_ = 0;
};

}  // namespace accl
