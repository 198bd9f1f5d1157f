// The sending half: all streams from this rank to one peer, over a few connections that this rank
// has made. Stream s goes over connection s modulo their number, so it keeps its order.
//
// Owned by the Mesh. attach() and fail() are for any thread, the rest for the thread that drives
// the communicator. Nothing is allocated once a stream is open.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/base/byte_ring.h"
#include "src/base/fd.h"
#include "src/base/status.h"
#include "transport/socket/frames.h"
#include "transport/transport.h"

namespace accl::socket {

class Outgoing {
 public:
  /// `peer`: how texts name it.
  Outgoing(std::string peer, int connections, int streams);

  /// A connection is there; bytes written before have waited for it. Any thread.
  void attach(int connection, Fd fd);
  /// There will be no connection, or no more. Any thread; the first cause stays.
  void fail(Status why);

  void open(int stream);
  Slice reserve(int stream, size_t bytes);
  void commit(int stream, uint32_t signature);
  bool push(int stream, Slice message, uint32_t signature);
  uint64_t pushed(int stream) const { return streams_[at(stream)]->pushed; }
  uint64_t flushed(int stream);
  /// True once everything committed has left this process.
  bool settled(int stream);
  /// Sends what waits, as far as the sockets take it.
  void flush();
  bool has_unsent() const { return unsent_ > 0; }
  Status status();

 private:
  static constexpr size_t kFrames = 64;  ///< of a stream, not sent yet
  static constexpr uint32_t kRing = 2 * static_cast<uint32_t>(kMaxMessage);

  struct Frame {
    DataHeader header;
    const std::byte* data = nullptr;
    size_t sent = 0;        ///< of header and data
    uint64_t position = 0;  ///< in the ring, when it has been sent; unused if pushed
    bool pushed = false;
    size_t size() const { return sizeof header + header.bytes; }
  };
  struct Stream {
    ByteRing ring{kRing};
    std::unique_ptr<std::byte[]> memory;
    std::array<Frame, kFrames> frames;
    uint64_t first = 0;  ///< frame that is sent next; number modulo kFrames
    uint64_t last = 0;   ///< one past the newest
    uint64_t cost_sent = 0;
    uint64_t cost_freed = 0;
    uint64_t pushed = 0;
    uint64_t flushed = 0;
    uint32_t reserved = 0;  ///< start of the room that reserve() gave
    size_t reserved_bytes = 0;
    bool has_room = false;  ///< reserve() gave room
    bool queued = false;    ///< in its connection's queue
  };
  struct Line {
    Fd fd;
    std::vector<int> queue;  ///< streams with unsent frames; the first one's frame may be half sent
    std::array<std::byte, 4096> credits;
    size_t credit_bytes = 0;
  };

  static size_t at(int stream) { return static_cast<size_t>(stream); }
  Line& line_of(int stream) { return lines_[at(stream) % lines_.size()]; }
  bool may_send(Stream& stream, uint32_t bytes);
  void append(int stream, const Frame& frame);
  void take_new();
  void flush(Line& line);
  bool send_some(Line& line, Stream& stream);
  void mark_sent(Stream& stream, size_t bytes);
  void read_credits(Line& line);
  void take_credits(Line& line);
  void lost(const std::string& cause);

  const std::string peer_;
  std::vector<Line> lines_;
  std::vector<std::unique_ptr<Stream>> streams_;
  size_t unsent_ = 0;  ///< frames
  bool failed_ = false;
  Status failure_;

  std::atomic<bool> news_{false};  ///< something below is new
  std::mutex mutex_;
  std::vector<std::pair<int, Fd>> new_fds_;  ///< guarded by mutex_
  Status new_failure_;                       ///< guarded by mutex_
};

}  // namespace accl::socket
