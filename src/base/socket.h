// Framed, non-blocking connections over stream sockets (unix or TCP), with file descriptors.
//
// A frame is {u32 length, u16 kind, u16 descriptors} (little-endian) and `length` bytes; see
// docs/wire.md. Until the peer has proven who it is, the limits are small and descriptors are
// refused. A Connection belongs to one thread at a time. No call blocks; short reads and writes,
// EINTR and EAGAIN are dealt with here, SIGPIPE is never raised.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/address.h"
#include "src/base/fd.h"
#include "src/base/status.h"

namespace accl {

using Blob = std::vector<std::byte>;
/// Descriptors that several connections may still have to send.
using SharedFds = std::shared_ptr<std::vector<Fd>>;

/// The bytes of a text, and back.
Blob blob_of(std::string_view text);
std::string text_of(std::span<const std::byte> bytes);

struct Frame {
  uint16_t kind = 0;
  Blob payload;
  std::vector<Fd> fds;
};

/// A frame ready to be sent, shared by the connections that send it.
struct Packet {
  std::shared_ptr<const Blob> bytes;  ///< header and payload
  SharedFds fds;                      ///< may be null
};

class Connection {
 public:
  static constexpr size_t kHeaderBytes = 8;
  static constexpr size_t kMaxFds = 240;  ///< per frame; the system's limit is 253 (SCM_MAX_FD)

  Connection() = default;
  explicit Connection(Fd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  /// Where the peer of a TCP connection is; no address on a unix socket.
  SocketAddress peer() const { return peer_address(fd_.get()).value_or(SocketAddress()); }
  /// Gives the socket up, with the bytes that have arrived and are not taken.
  struct Released {
    Fd fd;
    Blob early;
  };
  Released release();
  /// What a frame from the peer may hold at most. The default suits strangers.
  void set_limits(size_t max_payload_bytes, bool accept_fds);

  static Packet make_packet(uint16_t kind, std::span<const std::byte> payload,
                            SharedFds fds = nullptr);
  /// Queues a packet and sends as much as the socket takes. An error means the connection is lost.
  Status send(const Packet& packet);
  Status send(uint16_t kind, std::span<const std::byte> payload) {
    return send(make_packet(kind, payload));
  }
  /// Sends more of what is queued; to be called when the socket is writable.
  Status flush();
  /// True while something is queued: watch for EPOLLOUT.
  bool wants_write() const { return !outbox_.empty(); }
  size_t queued_bytes() const { return queued_bytes_; }

  /// Reads what has arrived (bounded per call). The end of the stream is not an error: see
  /// at_end().
  Status receive();
  /// The next complete frame; an error if the peer breaks the framing or the limits.
  Result<std::optional<Frame>> next();
  /// True once the peer has closed; frames read before may still be taken.
  bool at_end() const { return at_end_; }
  /// True if bytes are here that next() has not taken.
  bool holds_bytes() const { return inbox_.size() > consumed_; }

 private:
  Status take_ancillary(const msghdr& message);

  Fd fd_;
  size_t max_payload_bytes_ = 256;
  bool accept_fds_ = false;
  bool at_end_ = false;
  Blob inbox_;
  size_t consumed_ = 0;
  std::deque<Fd> inbox_fds_;
  std::deque<Packet> outbox_;
  size_t offset_ = 0;  ///< bytes of outbox_.front() that are sent
  size_t queued_bytes_ = 0;
};

/// Who is at the other end of a unix socket, as the kernel says.
struct PeerCredentials {
  pid_t pid = 0;  ///< 0: not visible from here
  uid_t uid = 0;
};
PeerCredentials peer_credentials(int fd);
/// A pidfd of the peer's process (SO_PEERPIDFD, else pidfd_open); none if it is not to be had.
Fd peer_pidfd(int fd);
/// True if the process of a pidfd has ended.
bool process_ended(int pidfd);

/// A listening abstract unix socket of that name (without the leading zero byte).
Result<Fd> listen_abstract(std::string_view name);
/// Starts to connect to an abstract unix socket. The descriptor is -1 (not an error) if the
/// listener's queue is full and one has to try again later.
Result<Fd> connect_abstract(std::string_view name);

}  // namespace accl
