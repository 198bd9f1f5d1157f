#include "transport/socket/outgoing.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "src/base/address.h"

namespace accl::socket {
namespace {

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Outgoing::Outgoing(std::string peer, int connections, int streams)
    : peer_(std::move(peer)),
      lines_(static_cast<size_t>(connections)),
      streams_(static_cast<size_t>(streams)) {
  for (Line& line : lines_) line.queue.reserve(static_cast<size_t>(streams));
}

void Outgoing::attach(int connection, Fd fd) {
  const std::lock_guard lock(mutex_);
  new_fds_.emplace_back(connection, std::move(fd));
  news_.store(true, std::memory_order_release);
}

void Outgoing::fail(Status why) {
  const std::lock_guard lock(mutex_);
  if (new_failure_.ok()) new_failure_ = std::move(why);
  news_.store(true, std::memory_order_release);
}

void Outgoing::take_new() {
  if (!news_.load(std::memory_order_acquire)) [[likely]]
    return;
  const std::lock_guard lock(mutex_);
  news_.store(false, std::memory_order_relaxed);
  for (auto& [connection, fd] : new_fds_) lines_[at(connection)].fd = std::move(fd);
  new_fds_.clear();
  if (!new_failure_.ok() && !failed_) {
    failed_ = true;
    failure_ = new_failure_.copy();
  }
}

void Outgoing::open(int stream) {
  auto made = std::make_unique<Stream>();
  made->memory.reset(new std::byte[kRing + ByteRing::kAlign]);
  streams_[at(stream)] = std::move(made);
}

bool Outgoing::may_send(Stream& stream, uint32_t bytes) {
  if (stream.last - stream.first == kFrames) return false;
  return stream.cost_sent - stream.cost_freed + cost_of(bytes) <= kWindow;
}

Slice Outgoing::reserve(int number, size_t bytes) {
  Stream& stream = *streams_[at(number)];
  // Kernels like a cache line's start.
  const auto base = reinterpret_cast<uintptr_t>(stream.memory.get());
  std::byte* memory = stream.memory.get() + (ByteRing::kAlign - base % ByteRing::kAlign);
  if (stream.has_room && stream.reserved_bytes == bytes) return {memory + stream.reserved, bytes};
  if (failed_) return {};
  if (bytes > kMaxMessage) {
    fail(
        internal_error(fmt::format("a message of {} bytes to {}: a stream carries at most {} at a "
                                   "time",
                                   bytes, peer_, kMaxMessage)));
    return {};
  }
  const auto size = static_cast<uint32_t>(bytes);
  uint32_t start = stream.ring.find(size);
  if (!may_send(stream, size) || start == ByteRing::kNone) {
    flush();
    if (Line& line = line_of(number); line.fd) read_credits(line);
    start = stream.ring.find(size);
    if (failed_ || !may_send(stream, size) || start == ByteRing::kNone) return {};
  }
  stream.reserved = start;
  stream.reserved_bytes = bytes;
  stream.has_room = true;
  return {memory + start, bytes};
}

void Outgoing::commit(int number, uint32_t signature) {
  Stream& stream = *streams_[at(number)];
  const auto base = reinterpret_cast<uintptr_t>(stream.memory.get());
  std::byte* memory = stream.memory.get() + (ByteRing::kAlign - base % ByteRing::kAlign);
  const auto bytes = static_cast<uint32_t>(stream.reserved_bytes);
  stream.has_room = false;
  append(
      number,
      {.header = {.stream = static_cast<uint32_t>(number), .bytes = bytes, .signature = signature},
       .data = memory + stream.reserved,
       .position = stream.ring.take(stream.reserved, bytes)});
}

bool Outgoing::push(int number, Slice message, uint32_t signature) {
  Stream& stream = *streams_[at(number)];
  const auto bytes = static_cast<uint32_t>(message.size);
  if (failed_ || message.size > kMaxMessage) return false;
  if (!may_send(stream, bytes)) {
    flush();
    if (Line& line = line_of(number); line.fd) read_credits(line);
    if (failed_ || !may_send(stream, bytes)) return false;
  }
  stream.pushed++;
  append(
      number,
      {.header = {.stream = static_cast<uint32_t>(number), .bytes = bytes, .signature = signature},
       .data = message.data,
       .pushed = true});
  return true;
}

void Outgoing::append(int number, const Frame& frame) {
  Stream& stream = *streams_[at(number)];
  stream.cost_sent += cost_of(frame.header.bytes);
  stream.frames[stream.last++ % kFrames] = frame;
  unsent_++;
  Line& line = line_of(number);
  if (!stream.queued) {
    line.queue.push_back(number);
    stream.queued = true;
  }
  take_new();
  if (line.fd) flush(line);
}

uint64_t Outgoing::flushed(int number) {
  Stream& stream = *streams_[at(number)];
  if (stream.flushed != stream.pushed) flush();
  // Nothing is sent any more once the connection is lost: what was lent is free.
  return failed_ ? stream.pushed : stream.flushed;
}

bool Outgoing::settled(int number) {
  Stream& stream = *streams_[at(number)];
  if (stream.first == stream.last) [[likely]]
    return true;
  flush();
  return stream.first == stream.last;
}

void Outgoing::flush() {
  take_new();
  for (Line& line : lines_) {
    if (line.fd && !line.queue.empty()) flush(line);
  }
}

void Outgoing::flush(Line& line) {
  while (!failed_ && !line.queue.empty()) {
    Stream& stream = *streams_[at(line.queue.front())];
    if (!send_some(line, stream)) return;
    if (stream.first != stream.last) continue;
    stream.queued = false;
    line.queue.erase(line.queue.begin());
  }
}

// One call for as many frames as it takes; false: the socket is full, or lost.
bool Outgoing::send_some(Line& line, Stream& stream) {
  constexpr size_t kPieces = 32;
  std::array<iovec, kPieces> pieces;
  size_t count = 0;
  size_t total = 0;
  for (uint64_t i = stream.first; i != stream.last && count + 2 <= kPieces; i++) {
    Frame& frame = stream.frames[i % kFrames];
    size_t skip = frame.sent;
    if (skip < sizeof frame.header) {
      pieces[count++] = {reinterpret_cast<std::byte*>(&frame.header) + skip,
                         sizeof frame.header - skip};
      skip = 0;
    } else {
      skip -= sizeof frame.header;
    }
    if (frame.header.bytes > skip) {
      pieces[count++] = {const_cast<std::byte*>(frame.data) + skip, frame.header.bytes - skip};
    }
    total += frame.size() - frame.sent;
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = count;
  const ssize_t sent = sendmsg(line.fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (!would_block(errno)) lost(strerror(errno));
    return false;
  }
  mark_sent(stream, static_cast<size_t>(sent));
  return static_cast<size_t>(sent) == total;
}

void Outgoing::mark_sent(Stream& stream, size_t bytes) {
  while (stream.first != stream.last) {
    Frame& frame = stream.frames[stream.first % kFrames];
    const size_t left = frame.size() - frame.sent;
    if (bytes < left) {
      frame.sent += bytes;
      return;
    }
    bytes -= left;
    if (frame.pushed) {
      stream.flushed++;
    } else {
      stream.ring.free_to(frame.position);
    }
    stream.first++;
    unsent_--;
  }
}

void Outgoing::read_credits(Line& line) {
  for (;;) {
    const size_t room = line.credits.size() - line.credit_bytes;
    const ssize_t got =
        recv(line.fd.get(), line.credits.data() + line.credit_bytes, room, MSG_DONTWAIT);
    if (got == 0) return lost("closed by the peer");
    if (got < 0) {
      if (!would_block(errno)) lost(strerror(errno));
      return;
    }
    line.credit_bytes += static_cast<size_t>(got);
    take_credits(line);
    if (failed_ || static_cast<size_t>(got) < room) return;
  }
}

void Outgoing::take_credits(Line& line) {
  size_t used = 0;
  for (; line.credit_bytes - used >= sizeof(Credit); used += sizeof(Credit)) {
    Credit credit;
    std::memcpy(&credit, line.credits.data() + used, sizeof credit);
    Stream* stream = credit.stream < streams_.size() ? streams_[credit.stream].get() : nullptr;
    if (stream == nullptr || credit.cost > stream->cost_sent - stream->cost_freed) {
      return lost("the peer gives credit that it does not have");
    }
    stream->cost_freed += credit.cost;
  }
  line.credit_bytes -= used;
  std::memmove(line.credits.data(), line.credits.data() + used, line.credit_bytes);
}

void Outgoing::lost(const std::string& cause) {
  if (failed_) return;
  std::string where;
  for (const Line& line : lines_) {
    if (const auto address = line.fd ? peer_address(line.fd.get()) : std::nullopt) {
      where = " at " + describe(*address);
    }
  }
  failed_ = true;
  failure_ = remote_error("the connection to " + peer_ + where + " was lost: " + cause);
}

Status Outgoing::status() {
  take_new();
  // A rank that waits for others notices here that this peer is gone.
  for (Line& line : lines_) {
    if (line.fd && !failed_) read_credits(line);
  }
  return failure_.copy();
}

}  // namespace accl::socket
