// What goes over the data connections (docs/wire.md): frames one way, credits the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace accl::socket {

/// A message: this header, then `bytes` bytes.
struct DataHeader {
  static constexpr uint32_t kMagic = 0x31646361;  // "acd1"
  uint32_t magic = kMagic;
  uint32_t stream = 0;
  uint32_t bytes = 0;
  uint32_t signature = 0;
};

/// The reader has freed so much of a stream's window.
struct Credit {
  uint32_t stream = 0;
  uint32_t cost = 0;
};

inline constexpr size_t kMaxMessage = size_t{128} << 10;
/// What may be on its way or unread in one stream; the reader can always take that much off the
/// socket, so streams that share a connection do not wait for one another.
inline constexpr uint32_t kWindow = 256 << 10;
inline constexpr uint32_t kLeastCost = 512;
/// The most messages in a window.
inline constexpr uint32_t kMessages = kWindow / kLeastCost;

/// What a message takes of the window.
constexpr uint32_t cost_of(uint32_t bytes) {
  return std::max(kLeastCost, (bytes + 63) & ~uint32_t{63});
}

}  // namespace accl::socket
