// One rank's part in an algorithm: how chunks spread from their owners, as ordered moves.
//
// A spread says nothing about a collective. Read forwards it is a gather, read backwards (last move
// first, sends and receives exchanged) it is a reduction: see src/plan/lower.h. The order of moves
// between two ranks must be the same on both of them; nothing else has to be.
//
// Values: copyable, any thread.
#pragma once

#include <vector>

#include "src/base/type.h"

namespace accl {

/// "Send `chunk` to `peer`", or "receive `chunk` from `peer`".
struct Move {
  Rank peer = 0;
  int chunk = 0;
  bool send = false;
  bool operator==(const Move&) const = default;
};

/// The moves of one rank. Peers and chunks are reduced modulo the number of ranks, so that an
/// algorithm may write `rank - 1` for the left neighbour of rank 0.
class Spread {
 public:
  explicit Spread(int ranks) : ranks_(ranks) {}

  void send(int peer, int chunk) { moves_.push_back({wrap(peer), wrap(chunk), true}); }
  void recv(int peer, int chunk) { moves_.push_back({wrap(peer), wrap(chunk), false}); }

  int ranks() const { return ranks_; }
  const std::vector<Move>& moves() const& { return moves_; }
  const std::vector<Move>& moves() const&& = delete;  // would not outlive the spread
  /// Nothing arrives here: of a spread with one chunk, this rank is the root.
  bool is_source() const {
    for (const Move& move : moves_) {
      if (!move.send) return false;
    }
    return true;
  }

 private:
  int wrap(int number) const { return ((number % ranks_) + ranks_) % ranks_; }

  int ranks_;
  std::vector<Move> moves_;
};

}  // namespace accl
