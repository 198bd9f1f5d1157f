#include "src/base/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace accl {
namespace {

// From asm-generic/socket.h of Linux 6.5; Debian 12's headers are older.
constexpr int kSoPeerPidfd = 77;
constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kReadsPerCall = 16;
constexpr size_t kAncillaryBytes = CMSG_SPACE(sizeof(int) * 253);

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

Result<sockaddr_un> abstract_address(std::string_view name, socklen_t* bytes) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof(address.sun_path)) {
    return internal_error("an abstract socket's name has 1 to 107 characters");
  }
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  *bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

}  // namespace

Blob blob_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Connection::set_limits(size_t max_payload_bytes, bool accept_fds) {
  max_payload_bytes_ = max_payload_bytes;
  accept_fds_ = accept_fds;
}

Connection::Released Connection::release() {
  Released released{std::move(fd_), {}};
  released.early.assign(inbox_.begin() + static_cast<ptrdiff_t>(consumed_), inbox_.end());
  inbox_.clear();
  consumed_ = 0;
  return released;
}

Packet Connection::make_packet(uint16_t kind, std::span<const std::byte> payload, SharedFds fds) {
  auto bytes = std::make_shared<Blob>(kHeaderBytes + payload.size());
  const auto length = static_cast<uint32_t>(payload.size());
  const auto fd_count = static_cast<uint16_t>(fds ? fds->size() : 0);
  std::memcpy(bytes->data(), &length, 4);
  std::memcpy(bytes->data() + 4, &kind, 2);
  std::memcpy(bytes->data() + 6, &fd_count, 2);
  if (!payload.empty()) std::memcpy(bytes->data() + kHeaderBytes, payload.data(), payload.size());
  return {std::move(bytes), std::move(fds)};
}

Status Connection::send(const Packet& packet) {
  if (!fd_) return remote_error("the connection is closed");
  queued_bytes_ += packet.bytes->size();
  outbox_.push_back(packet);
  return outbox_.size() == 1 ? flush() : Status();
}

Status Connection::flush() {
  while (!outbox_.empty()) {
    const Packet& packet = outbox_.front();
    iovec part{const_cast<std::byte*>(packet.bytes->data()) + offset_,
               packet.bytes->size() - offset_};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, kAncillaryBytes> ancillary{};
    // Descriptors go with the first byte of their frame, so they are never behind its header.
    if (offset_ == 0 && packet.fds && !packet.fds->empty()) {
      const size_t bytes = packet.fds->size() * sizeof(int);
      message.msg_control = ancillary.data();
      message.msg_controllen = CMSG_SPACE(bytes);
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(bytes);
      auto* to = reinterpret_cast<int*>(CMSG_DATA(header));
      for (const Fd& fd : *packet.fds) *to++ = fd.get();
    }
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      // ETOOMANYREFS: too many descriptors are under way; the receivers will take them.
      if (would_block(errno) || errno == ETOOMANYREFS || errno == ENOBUFS) return {};
      return remote_error(std::string("cannot send: ") + strerror(errno));
    }
    offset_ += static_cast<size_t>(sent);
    queued_bytes_ -= static_cast<size_t>(sent);
    if (offset_ == packet.bytes->size()) {
      outbox_.pop_front();
      offset_ = 0;
    }
  }
  return {};
}

Status Connection::take_ancillary(const msghdr& message) {
  auto* headers = const_cast<msghdr*>(&message);
  for (cmsghdr* at = CMSG_FIRSTHDR(headers); at != nullptr; at = CMSG_NXTHDR(headers, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const auto* from = reinterpret_cast<const int*>(CMSG_DATA(at));
    for (size_t i = 0; i < count; ++i) inbox_fds_.emplace_back(from[i]);
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return system_error("cannot receive file descriptors: the process has too many open (limit " +
                        std::to_string(limit.rlim_cur) + ", see `ulimit -n`)");
  }
  return {};
}

Status Connection::receive() {
  // A stranger gets room for one small frame; a peer may send much, so that one call is bounded
  // too.
  const size_t stranger_bytes = max_payload_bytes_ + kHeaderBytes;
  for (size_t turn = 0; turn < kReadsPerCall && !at_end_; ++turn) {
    const size_t held = inbox_.size() - consumed_;
    size_t room = kReadBytes;
    if (!accept_fds_) {
      if (held >= stranger_bytes) return {};
      room = std::min(room, stranger_bytes - held);
    }
    std::array<std::byte, kReadBytes> buffer;
    alignas(cmsghdr) std::array<char, kAncillaryBytes> ancillary;
    iovec part{buffer.data(), room};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (accept_fds_) {  // else the kernel drops what is sent
      message.msg_control = ancillary.data();
      message.msg_controllen = ancillary.size();
    }
    const ssize_t got = recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (would_block(errno)) return {};
      if (errno == ECONNRESET) {
        at_end_ = true;
        return {};
      }
      return remote_error(std::string("cannot receive: ") + strerror(errno));
    }
    if (got == 0) at_end_ = true;
    if (accept_fds_) ACCL_TRY(take_ancillary(message));
    if (consumed_ > 0) {
      inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<ptrdiff_t>(consumed_));
      consumed_ = 0;
    }
    inbox_.insert(inbox_.end(), buffer.begin(), buffer.begin() + got);
  }
  return {};
}

Result<std::optional<Frame>> Connection::next() {
  const size_t held = inbox_.size() - consumed_;
  if (held < kHeaderBytes) return std::optional<Frame>();
  const std::byte* at = inbox_.data() + consumed_;
  uint32_t length = 0;
  uint16_t fd_count = 0;
  Frame frame;
  std::memcpy(&length, at, 4);
  std::memcpy(&frame.kind, at + 4, 2);
  std::memcpy(&fd_count, at + 6, 2);
  if (length > max_payload_bytes_) {
    return remote_error("a frame of " + std::to_string(length) + " bytes is over the limit of " +
                        std::to_string(max_payload_bytes_));
  }
  if (fd_count > kMaxFds || (fd_count > 0 && !accept_fds_) || fd_count > inbox_fds_.size()) {
    return remote_error("a frame announces " + std::to_string(fd_count) +
                        " file descriptors that did not come or may not come");
  }
  if (held < kHeaderBytes + length) return std::optional<Frame>();
  frame.payload.assign(at + kHeaderBytes, at + kHeaderBytes + length);
  for (uint16_t i = 0; i < fd_count; ++i) {
    frame.fds.push_back(std::move(inbox_fds_.front()));
    inbox_fds_.pop_front();
  }
  consumed_ += kHeaderBytes + length;
  if (consumed_ == inbox_.size()) {
    inbox_.clear();
    consumed_ = 0;
  }
  return std::optional<Frame>(std::move(frame));
}

PeerCredentials peer_credentials(int fd) {
  ucred credentials{};
  socklen_t bytes = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return {};
  return {credentials.pid, credentials.uid};
}

Fd peer_pidfd(int fd) {
  int pidfd = -1;
  socklen_t bytes = sizeof(pidfd);
  if (getsockopt(fd, SOL_SOCKET, kSoPeerPidfd, &pidfd, &bytes) == 0 && pidfd >= 0) {
    fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    return Fd(pidfd);
  }
  const pid_t pid = peer_credentials(fd).pid;
  if (pid <= 0) return {};
  return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));  // close-on-exec by itself
}

bool process_ended(int pidfd) {
  pollfd watched{pidfd, POLLIN, 0};
  return pidfd >= 0 && poll(&watched, 1, 0) == 1;
}

Result<Fd> listen_abstract(std::string_view name) {
  socklen_t bytes = 0;
  const sockaddr_un address = ACCL_TRY(abstract_address(name, &bytes));
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error(std::string("cannot create a unix socket: ") + strerror(errno));
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
    return system_error("cannot bind the abstract unix socket @" + std::string(name) + ": " +
                        strerror(errno));
  }
  if (listen(fd.get(), 4096) != 0) {
    return system_error(std::string("cannot listen on a unix socket: ") + strerror(errno));
  }
  return fd;
}

Result<Fd> connect_abstract(std::string_view name) {
  socklen_t bytes = 0;
  const sockaddr_un address = ACCL_TRY(abstract_address(name, &bytes));
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error(std::string("cannot create a unix socket: ") + strerror(errno));
  while (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
    if (errno == EINTR) continue;
    if (would_block(errno)) return Fd();
    return remote_error("cannot connect to the abstract unix socket @" + std::string(name) + ": " +
                        strerror(errno));
  }
  return fd;
}

}  // namespace accl
