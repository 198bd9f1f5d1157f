// The receiving half: all streams from one peer to this rank, over connections that the peer has
// made. Whatever arrives is taken off the socket at once: each stream has memory for all that its
// window lets the peer send.
//
// Owned by the Mesh. attach() and fail() are for any thread, the rest for the thread that drives
// the communicator. What the peer sends is not trusted: nonsense ends the connection.
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

class Incoming {
 public:
  Incoming(std::string peer, int connections, int streams);

  /// A connection is there; `early` has arrived over it already. Any thread.
  void attach(int connection, Fd fd, std::vector<std::byte> early);
  void fail(Status why);

  void open(int stream) { stream_at(static_cast<uint32_t>(stream)); }
  Slice front(int stream, uint32_t signature);
  void pop(int stream);
  bool mismatched(int stream, uint32_t signature);
  uint32_t arrived(int stream);
  Status status();

 private:
  // Twice the window: wherever the ring's end falls, there is room for what the window allows.
  static constexpr uint32_t kRing = 2 * kWindow;
  static constexpr size_t kScan = size_t{64} << 10;

  struct Message {
    uint32_t start;
    uint32_t bytes;
    uint32_t signature;
    uint64_t position;  ///< in the ring, for free_to
  };
  struct Stream {
    ByteRing ring{kRing};
    std::unique_ptr<std::byte[]> memory;
    std::array<Message, kMessages> messages;
    uint64_t first = 0;  ///< oldest message that was not popped; number modulo kMessages
    uint64_t last = 0;   ///< one past the newest that is complete
    uint32_t cost = 0;   ///< of what was announced and is not credited
    uint32_t owed = 0;   ///< popped and not credited
    std::byte* data() const;
  };
  struct Line {
    Fd fd;
    std::vector<std::byte> scan;  ///< bytes read and not yet looked at: [scan_at, scan_end)
    size_t scan_at = 0;
    size_t scan_end = 0;
    Stream* into = nullptr;    ///< the stream of the message that is arriving; null: a header comes
    size_t missing = 0;        ///< bytes of that message
    std::vector<Credit> owed;  ///< to be sent
    size_t owed_sent = 0;      ///< bytes of them
    bool deaf = false;         ///< the peer takes no credit any more
  };

  static size_t at(int stream) { return static_cast<size_t>(stream); }
  Line& line_of(int stream) { return lines_[at(stream) % lines_.size()]; }
  Stream& stream_at(uint32_t stream);
  void take_new();
  void poll(Line& line);
  bool read_some(Line& line);
  void scan(Line& line);
  bool begin_message(Line& line);
  void end_message(Line& line);
  void send_credits(Line& line);
  void lost(const std::string& cause);

  const std::string peer_;
  std::vector<Line> lines_;
  std::mutex streams_mutex_;  ///< a message may come while its stream is opened
  std::vector<std::unique_ptr<Stream>> streams_;
  bool failed_ = false;
  Status failure_;

  struct New {
    int connection;
    Fd fd;
    std::vector<std::byte> early;
  };
  std::atomic<bool> news_{false};  ///< something below is new
  std::mutex mutex_;
  std::vector<New> new_lines_;  ///< guarded by mutex_
  Status new_failure_;          ///< guarded by mutex_
};

}  // namespace accl::socket
