// A queue of cache lines in shared memory: one writer, one reader, each maybe a process of its own.
//
// Every message is one line: {sequence number, signature} as its tag, then sizes, then up to 48
// bytes of payload, so that arrival, order and signature are one load and one compare. Larger
// payloads lie elsewhere and the line says where: up to kDataMessageBytes in the data area behind
// the lines, larger ones in staging memory or in the sender's own (transport/shm/stream.h). Payload
// never lies in a line's tag word, so user data cannot be taken for a message.
//
// The reader's only word is the number of messages popped: that is the credit, from which the
// writer derives all that is free. Positions are local to each end; the memory only carries them
// over, so it stays readable when either process dies. Only acquire and release are needed.
//
// The memory is zero when both ends are made, and each end is made once. An end belongs to one
// thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/memory.h"

namespace accl {

inline constexpr size_t kInlineBytes = 48;
inline constexpr size_t kDataMessageBytes = 4096;

struct alignas(64) Line {
  std::atomic<uint64_t> tag;  ///< low half of (sequence number, from 1) << 32 | signature
  uint32_t bytes;
  uint32_t where;  ///< beyond kInlineBytes: place in the data area or in staging memory
  std::byte payload[kInlineBytes];
};
static_assert(sizeof(Line) == 64 && std::atomic<uint64_t>::is_always_lock_free);

/// The shared memory of one stream: five pages.
struct Fifo {
  static constexpr uint32_t kLines = 64;
  static constexpr uint32_t kDataBytes = 16384 - kFalseSharingBytes;
  /// `popped` of a reader that is gone.
  static constexpr uint64_t kClosed = ~uint64_t{0};

  Line lines[kLines];
  alignas(kFalseSharingBytes) std::atomic<uint64_t> popped;  ///< messages; written by the reader
  alignas(kFalseSharingBytes) std::byte data[kDataBytes];
};
static_assert(sizeof(Fifo) == 5 * kPageBytes && (Fifo::kLines & (Fifo::kLines - 1)) == 0);
static_assert(Fifo::kDataBytes >= 2 * kDataMessageBytes && Fifo::kDataBytes % 64 == 0);

class FifoWriter {
 public:
  /// `position`: messages that went through before; both ends start at the same one.
  explicit FifoWriter(Fifo* fifo, uint64_t position = 0)
      : fifo_(fifo), sent_(position), popped_(position) {}

  /// Messages published, and popped as far as is known here.
  uint64_t sent() const { return sent_; }
  uint64_t popped() const { return popped_; }
  /// Looks at the reader's word. False if that is kClosed or cannot be: the stream is over.
  bool refresh() {
    const uint64_t popped = fifo_->popped.load(std::memory_order_acquire);
    if (popped > sent_) [[unlikely]]
      return false;
    popped_ = popped;
    return true;
  }
  bool full() const { return sent_ - popped_ >= Fifo::kLines; }
  /// The line of the next message. Only when not full.
  Line& next() { return fifo_->lines[sent_ % Fifo::kLines]; }
  /// The line is written: the message goes out.
  void publish(uint32_t signature) {
    Line& line = next();
    ++sent_;
    line.tag.store(sent_ << 32 | signature, std::memory_order_release);
  }
  Fifo* memory() const { return fifo_; }

 private:
  Fifo* fifo_;
  uint64_t sent_;
  uint64_t popped_;
};

class FifoReader {
 public:
  explicit FifoReader(Fifo* fifo, uint64_t position = 0) : fifo_(fifo), popped_(position) {}

  /// The oldest message if it has arrived and carries `signature`.
  const Line* front(uint32_t signature) const {
    const Line& line = fifo_->lines[popped_ % Fifo::kLines];
    const uint64_t expected = (popped_ + 1) << 32 | signature;
    return line.tag.load(std::memory_order_acquire) == expected ? &line : nullptr;
  }
  /// True if the oldest message has arrived with another signature.
  bool mismatched(uint32_t signature) const {
    const uint64_t tag = oldest_tag();
    return has_arrived(tag) && static_cast<uint32_t>(tag) != signature;
  }
  /// The signature of the oldest message; 0 if it has not arrived.
  uint32_t arrived() const {
    const uint64_t tag = oldest_tag();
    return has_arrived(tag) ? static_cast<uint32_t>(tag) : 0;
  }
  /// Frees the oldest message.
  void pop() { fifo_->popped.store(++popped_, std::memory_order_release); }
  /// Tells the writer that nobody will read any more.
  void close() { fifo_->popped.store(Fifo::kClosed, std::memory_order_release); }
  Fifo* memory() const { return fifo_; }

 private:
  uint64_t oldest_tag() const {
    return fifo_->lines[popped_ % Fifo::kLines].tag.load(std::memory_order_acquire);
  }
  bool has_arrived(uint64_t tag) const { return tag >> 32 == static_cast<uint32_t>(popped_ + 1); }

  Fifo* fifo_;
  uint64_t popped_;
};

}  // namespace accl
