// The messages of Control, as values (docs/wire.md). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "src/base/socket.h"
#include "src/base/status.h"
#include "src/base/type.h"

namespace accl {

enum class ControlKind : uint16_t {
  kEntry = 64,   ///< a rank's part in an exchange, flooded
  kBarrierUp,    ///< the sender and all below it have come
  kBarrierDown,  ///< all have come
  kMessage,      ///< of the communicator, flooded
  kProposal,     ///< of a verdict, to the root
  kVerdict,      ///< flooded
  kDeath,        ///< flooded
  kGoodbye,      ///< the sender has left; the end of the connection is no death any more
  kSubtreeGone,  ///< the sender and all below it have left
  kAllGone,      ///< all have left
};

inline constexpr size_t kMaxEntryBytes = 16 * 1024 * 1024;
inline constexpr size_t kMaxFloodBytes = 64 * 1024;
inline constexpr size_t kControlPayloadBytes = kMaxEntryBytes + 64;

/// A rank's part in exchange number `turn`; long lists of descriptors come in several parts, and
/// the blob is in part 0.
struct Entry {
  uint32_t turn = 0;
  Rank from = 0;
  uint16_t part = 0;
  uint16_t parts = 1;
  std::span<const std::byte> blob;
};
struct Message {
  Rank from = 0;
  uint16_t kind = 0;
  std::span<const std::byte> payload;
};
/// A text with a code (verdicts) or a rank (deaths).
struct Notice {
  int32_t number = 0;
  std::string text;
};

Packet packet_of(const Entry& entry, SharedFds fds);
Packet packet_of(const Message& message);
Packet packet_of(ControlKind kind, const Notice& notice);
Packet packet_of(ControlKind kind, uint32_t turn);
Packet packet_of(ControlKind kind);

/// None if the payload is not of that shape. What they return looks into the frame.
std::optional<Entry> entry_of(const Frame& frame);
std::optional<Message> message_of(const Frame& frame);
std::optional<Notice> notice_of(const Frame& frame);
std::optional<uint32_t> turn_of(const Frame& frame);

}  // namespace accl
