#include "transport/socket/incoming.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/address.h"

namespace accl::socket {
namespace {

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// A poll takes at most so much, so that one connection does not keep the others waiting.
constexpr int kReadsPerPoll = 8;

}  // namespace

Incoming::Incoming(std::string peer, int connections, int streams)
    : peer_(std::move(peer)),
      lines_(static_cast<size_t>(connections)),
      streams_(static_cast<size_t>(streams)) {
  for (Line& line : lines_) line.owed.reserve(static_cast<size_t>(streams));
}

void Incoming::attach(int connection, Fd fd, std::vector<std::byte> early) {
  const std::lock_guard lock(mutex_);
  new_lines_.push_back({connection, std::move(fd), std::move(early)});
  news_.store(true, std::memory_order_release);
}

void Incoming::fail(Status why) {
  const std::lock_guard lock(mutex_);
  if (new_failure_.ok()) new_failure_ = std::move(why);
  news_.store(true, std::memory_order_release);
}

void Incoming::take_new() {
  if (!news_.load(std::memory_order_acquire)) [[likely]]
    return;
  const std::lock_guard lock(mutex_);
  news_.store(false, std::memory_order_relaxed);
  for (New& made : new_lines_) {
    Line& line = lines_[at(made.connection)];
    line.fd = std::move(made.fd);
    line.scan.resize(std::max(kScan, made.early.size()));
    std::copy(made.early.begin(), made.early.end(), line.scan.begin());
    line.scan_end = made.early.size();
    scan(line);
  }
  new_lines_.clear();
  if (!new_failure_.ok() && !failed_) {
    failed_ = true;
    failure_ = new_failure_.copy();
  }
}

std::byte* Incoming::Stream::data() const {
  const auto base = reinterpret_cast<uintptr_t>(memory.get());
  return memory.get() + (ByteRing::kAlign - base % ByteRing::kAlign);
}

Incoming::Stream& Incoming::stream_at(uint32_t number) {
  const std::lock_guard lock(streams_mutex_);
  std::unique_ptr<Stream>& stream = streams_[number];
  if (!stream) {
    auto made = std::make_unique<Stream>();
    made->memory.reset(new std::byte[kRing + ByteRing::kAlign]);
    stream = std::move(made);
  }
  return *stream;
}

Slice Incoming::front(int number, uint32_t signature) {
  Stream& stream = *streams_[at(number)];
  if (stream.first == stream.last) {
    take_new();
    poll(line_of(number));
    if (stream.first == stream.last) return {};
  }
  const Message& message = stream.messages[stream.first % kMessages];
  if (message.signature != signature) return {};
  return {stream.data() + message.start, message.bytes};
}

void Incoming::pop(int number) {
  Stream& stream = *streams_[at(number)];
  const Message& message = stream.messages[stream.first++ % kMessages];
  stream.ring.free_to(message.position);
  stream.owed += cost_of(message.bytes);
  if (stream.owed < kWindow / 4) return;
  Line& line = line_of(number);
  stream.cost -= stream.owed;
  line.owed.push_back({static_cast<uint32_t>(number), stream.owed});
  stream.owed = 0;
  send_credits(line);
}

bool Incoming::mismatched(int number, uint32_t signature) {
  const Stream& stream = *streams_[at(number)];
  return stream.first != stream.last &&
         stream.messages[stream.first % kMessages].signature != signature;
}

uint32_t Incoming::arrived(int number) {
  const Stream& stream = *streams_[at(number)];
  return stream.first == stream.last ? 0 : stream.messages[stream.first % kMessages].signature;
}

void Incoming::send_credits(Line& line) {
  if (line.deaf) line.owed.clear();
  if (failed_ || !line.fd || line.owed.empty()) return;
  const size_t size = line.owed.size() * sizeof(Credit);
  const auto* bytes = reinterpret_cast<const std::byte*>(line.owed.data());
  const ssize_t sent = send(line.fd.get(), bytes + line.owed_sent, size - line.owed_sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    // A peer that takes nothing any more may have left, and what it sent before is still to be
    // read; that the connection is lost shows when nothing is left.
    if (!would_block(errno)) line.deaf = true;
    return;
  }
  line.owed_sent += static_cast<size_t>(sent);
  if (line.owed_sent < size) return;
  line.owed.clear();
  line.owed_sent = 0;
}

void Incoming::poll(Line& line) {
  if (!line.fd || failed_) return;
  send_credits(line);
  for (int i = 0; i < kReadsPerPoll && !failed_; i++) {
    if (!read_some(line)) return;
  }
}

// A large message's bytes go where they are to lie, what follows them to be scanned. False: there
// is no more now, or the connection is lost.
bool Incoming::read_some(Line& line) {
  std::array<iovec, 2> pieces;
  size_t count = 0;
  size_t direct = 0;
  if (line.into != nullptr) {
    const Message& message = line.into->messages[line.into->last % kMessages];
    direct = line.missing;
    pieces[count++] = {line.into->data() + message.start + (message.bytes - line.missing), direct};
  }
  pieces[count++] = {line.scan.data(), line.scan.size() - line.scan_end};
  pieces[count - 1].iov_base = line.scan.data() + line.scan_end;
  msghdr header{};
  header.msg_iov = pieces.data();
  header.msg_iovlen = count;
  const ssize_t got = recvmsg(line.fd.get(), &header, MSG_DONTWAIT);
  if (got == 0) {
    lost("closed by the peer");
    return false;
  }
  if (got < 0) {
    if (!would_block(errno)) lost(strerror(errno));
    return false;
  }
  const size_t asked = direct + pieces[count - 1].iov_len;
  const size_t placed = std::min(direct, static_cast<size_t>(got));
  line.missing -= placed;
  if (line.into != nullptr && line.missing == 0) end_message(line);
  line.scan_end += static_cast<size_t>(got) - placed;
  scan(line);
  return static_cast<size_t>(got) == asked;
}

void Incoming::scan(Line& line) {
  while (!failed_ && line.scan_at < line.scan_end) {
    if (line.into == nullptr && !begin_message(line)) break;
    const size_t bytes = std::min(line.missing, line.scan_end - line.scan_at);
    if (bytes > 0) {
      const Message& message = line.into->messages[line.into->last % kMessages];
      std::memcpy(line.into->data() + message.start + (message.bytes - line.missing),
                  line.scan.data() + line.scan_at, bytes);
    }
    line.scan_at += bytes;
    line.missing -= bytes;
    if (line.missing == 0) end_message(line);
  }
  // What is left is less than a header.
  const size_t left = line.scan_end - line.scan_at;
  if (left > 0 && line.scan_at > 0) {
    std::memmove(line.scan.data(), line.scan.data() + line.scan_at, left);
  }
  line.scan_at = 0;
  line.scan_end = left;
}

// False: the header is not complete yet, or makes no sense.
bool Incoming::begin_message(Line& line) {
  DataHeader header;
  if (line.scan_end - line.scan_at < sizeof header) return false;
  std::memcpy(&header, line.scan.data() + line.scan_at, sizeof header);
  line.scan_at += sizeof header;
  if (header.magic != DataHeader::kMagic || header.stream >= streams_.size() ||
      header.bytes > kMaxMessage || &lines_[header.stream % lines_.size()] != &line) {
    lost("the peer sends nonsense");
    return false;
  }
  Stream& stream = stream_at(header.stream);
  const uint32_t start = stream.ring.find(header.bytes);
  if (stream.cost + cost_of(header.bytes) > kWindow || start == ByteRing::kNone) {
    lost("the peer sends more than its window allows");
    return false;
  }
  stream.cost += cost_of(header.bytes);
  const uint64_t position = stream.ring.take(start, header.bytes);
  stream.messages[stream.last % kMessages] = {start, header.bytes, header.signature, position};
  line.into = &stream;
  line.missing = header.bytes;
  return true;
}

void Incoming::end_message(Line& line) {
  line.into->last++;
  line.into = nullptr;
}

void Incoming::lost(const std::string& cause) {
  if (failed_) return;
  std::string where;
  for (const Line& line : lines_) {
    if (const auto address = line.fd ? peer_address(line.fd.get()) : std::nullopt) {
      where = " at " + describe(*address);
    }
  }
  failed_ = true;
  failure_ = remote_error("the connection from " + peer_ + where + " was lost: " + cause);
}

Status Incoming::status() {
  take_new();
  for (Line& line : lines_) poll(line);
  return failure_.copy();
}

}  // namespace accl::socket
