// The part of the board that other hosts write: a slot per rank in this process's own memory,
// filled with what the ranks tell through Control when they have waited for a while.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/socket.h"
#include "src/control/board.h"

namespace accl {

class RemoteBoard {
 public:
  explicit RemoteBoard(int ranks);

  /// The slot of a rank, for Board and, if it is this rank's own, for its BoardWriter.
  std::span<std::byte> slot(Rank rank) const;
  /// What is known of a rank from init.
  void introduce(Rank rank, const BoardIdentity& who);
  /// A rank has said what it waits in. One thread at a time.
  void told(Rank rank, const CallSignature& call);

 private:
  struct alignas(64) Page {
    std::array<std::byte, (sizeof(BoardSlot) + 63) / 64 * 64> bytes{};
  };
  std::unique_ptr<Page[]> pages_;
  std::vector<BoardWriter> writers_;
};

/// A signature as a message of Control, and back; none if it is not of that shape.
Blob wire_of(const CallSignature& call);
std::optional<CallSignature> signature_of(std::span<const std::byte> bytes);

}  // namespace accl
