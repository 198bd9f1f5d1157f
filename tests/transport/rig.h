// What the transport tests run on: two "processes" with a staging pool each, and the transports
// under test, which a later transport joins with one line.
//
// Both processes live in this one, so that a test can look at both ends; forking tests fork after
// the rig is made, and each side then uses only its half. Used by tests, any thread.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "transport/local/local.h"
#include "transport/shm/shm.h"
#include "transport/transport.h"

namespace accl::test {

template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status().text();
    std::abort();
  }
  return std::move(*result);
}

inline Fd copy_of(int fd) { return Fd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

struct Pair {
  std::unique_ptr<SendEnd> send;
  std::unique_ptr<RecvEnd> recv;
};

/// Rank 0 lives in process 0, rank 1 in process 1.
class Rig {
 public:
  explicit Rig(size_t pool_bytes = size_t{64} << 20) {
    for (auto& pool : pools_) pool = value_of(shm::StagingPool::create(pool_bytes));
    for (size_t i = 0; i < 2; ++i) {
      const shm::StagingPool& other = *pools_[1 - i];
      peers_[i] = value_of(maps_[i].open(copy_of(other.fd()), copy_of(other.eventfd())));
    }
  }

  static std::shared_ptr<shm::CommSegment> segment() {
    return value_of(shm::CommSegment::create(2));
  }
  shm::StagingPool& pool(Rank rank) { return *pools_[static_cast<size_t>(rank)]; }
  /// The stream as seen from rank `here`, which is one of its ends.
  shm::Link link(std::shared_ptr<shm::CommSegment> segment, Rank from, int stream, Rank here) {
    const auto i = static_cast<size_t>(here);
    return {std::move(segment), from, 1 - from, stream, pools_[i].get(), peers_[i]};
  }

 private:
  std::array<std::unique_ptr<shm::StagingPool>, 2> pools_;
  std::array<shm::PoolMap, 2> maps_;
  std::array<std::shared_ptr<const shm::PeerPool>, 2> peers_;
};

/// How a transport opens both ends of stream `stream` from rank `from` to the other rank.
struct Kind {
  const char* name;
  bool between_processes;
  Pair (*open)(Rig& rig, const std::shared_ptr<shm::CommSegment>& segment, Rank from, int stream);
};

inline Pair open_shm(Rig& rig, const std::shared_ptr<shm::CommSegment>& segment, Rank from,
                     int stream) {
  return {value_of(shm::open_send(rig.link(segment, from, stream, from))),
          value_of(shm::open_recv(rig.link(segment, from, stream, 1 - from)))};
}

inline Pair open_local(Rig& rig, const std::shared_ptr<shm::CommSegment>& segment, Rank from,
                       int stream) {
  // One process, so one pool: that of rank 0.
  shm::Link link = rig.link(segment, from, stream, 0);
  return {value_of(local::open_send(link)), value_of(local::open_recv(link))};
}

inline constexpr std::array kKinds = {
    Kind{"shm", true, open_shm},
    Kind{"local", false, open_local},
};

/// Byte `i` of message `number`; words differ between neighbours and messages.
inline uint64_t word(uint64_t number, size_t i) {
  return (number + 1) * 0x9E3779B97F4A7C15u ^ (i * 0xC2B2AE3D27D4EB4Fu);
}
inline void fill(Slice room, uint64_t number) {
  for (size_t at = 0; at < room.size; at += 8) {
    const uint64_t value = word(number, at);
    std::memcpy(room.data + at, &value, std::min<size_t>(8, room.size - at));
  }
}
inline bool holds(Slice message, uint64_t number) {
  for (size_t at = 0; at < message.size; at += 8) {
    const uint64_t value = word(number, at);
    if (std::memcmp(message.data + at, &value, std::min<size_t>(8, message.size - at)) != 0) {
      return false;
    }
  }
  return true;
}

/// Sends message `number` of `bytes` bytes if there is room.
inline bool try_send(SendEnd& end, uint64_t number, size_t bytes, uint32_t signature = 7) {
  const Slice room = end.reserve(bytes);
  if (!room) return false;
  EXPECT_EQ(room.size, bytes);
  fill(room, number);
  end.commit(signature);
  return true;
}
/// Takes the oldest message, which must be number `number` with `bytes` bytes.
inline void take(RecvEnd& end, uint64_t number, size_t bytes, uint32_t signature = 7) {
  const Slice message = end.front(signature);
  ASSERT_TRUE(message) << "message " << number << " is missing";
  ASSERT_EQ(message.size, bytes) << "message " << number;
  ASSERT_TRUE(holds(message, number)) << "message " << number << " has wrong contents";
  end.pop();
}

}  // namespace accl::test
