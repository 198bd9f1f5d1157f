// The transport contract: one-way ordered message streams with credits.
//
// Messages arrive in order and exactly once, or the stream fails. No call blocks, none allocates
// after the stream is open. Counters replace request objects: streams are FIFO, so "how many are
// done" is all that a caller needs. A failure is a state of the end (`status`), which the caller
// asks for only when it has to wait: the data path itself returns plain values (docs/adr/0004).
//
// An end belongs to the thread that drives its communicator; nothing here is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "src/base/status.h"

namespace accl {

/// A piece of memory. `data == nullptr` means "none"; a message of zero bytes has data and size 0.
struct Slice {
  std::byte* data = nullptr;
  size_t size = 0;
  explicit operator bool() const { return data != nullptr; }
};

/// The sending end. A stream holds at least one message of the plan's chunk without help of the
/// reader (credit >= 1), which is what the checker proves programs against.
class SendEnd {
 public:
  virtual ~SendEnd() = default;
  /// Room for the next message of exactly `bytes` bytes; none when the stream is full or has
  /// failed. Calling it again before `commit` gives the same room.
  virtual Slice reserve(size_t bytes) = 0;
  /// The reserved room is written: the message goes out, marked with the operation's signature.
  virtual void commit(uint32_t signature) = 0;
  /// True if `push` works: the message is then read by the peer where it lies, without a copy.
  virtual bool by_reference() const { return false; }
  /// Sends `message` by reference; it must stay unchanged until `flushed()` exceeds the number that
  /// this push had: what `pushed()` said before it. False when there is no room now.
  virtual bool push(Slice message, uint32_t signature) {
    (void)message;
    (void)signature;
    return false;
  }
  /// The largest message that may be pushed.
  virtual size_t largest_push() const { return ~size_t{0}; }
  /// How many pushes this stream has made in its life.
  virtual uint64_t pushed() const { return 0; }
  /// How many pushes of this stream's life may reuse their memory.
  virtual uint64_t flushed() { return 0; }
  /// True if committed messages may still lie in this process, so that an operation is over only
  /// when `settled()` says so.
  virtual bool buffers() const { return false; }
  /// Everything committed has left this process; sends what has not.
  virtual bool settled() { return true; }
  /// The operation is over: leased staging may go to others. The stream stays usable.
  virtual void rest() {}
  /// Ok, or why the stream will never move again.
  virtual Status status() = 0;
};

/// The receiving end.
class RecvEnd {
 public:
  virtual ~RecvEnd() = default;
  /// The oldest arrived message if it carries `signature`; none if nothing has arrived, if another
  /// signature has (see `mismatched`), or if the stream has failed. Valid until `pop`.
  virtual Slice front(uint32_t signature) = 0;
  /// Frees the message and returns its credit.
  virtual void pop() = 0;
  /// True if a message has arrived whose signature is not `signature`: ranks called different
  /// things.
  virtual bool mismatched(uint32_t signature) = 0;
  /// The signature of the oldest arrived message, for texts; 0 if unknown.
  virtual uint32_t arrived() { return 0; }
  virtual Status status() = 0;
};

}  // namespace accl
