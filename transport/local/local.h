// The in-process transport: streams between ranks that are threads of one process.
//
// The same FIFO as between processes, but a message may also be pushed: the reader then reads it
// where it lies, without a copy. Worth it beyond kDataMessageBytes; below, copying through the FIFO
// costs less than waiting for `flushed`.
#pragma once

#include <memory>
#include <utility>

#include "transport/shm/stream.h"
#include "transport/transport.h"

namespace accl::local {

class SendEnd final : public accl::SendEnd {
 public:
  explicit SendEnd(shm::Link link, Doorbell reader) : writer_(std::move(link), reader) {}

  Slice reserve(size_t bytes) override { return writer_.reserve(bytes); }
  void commit(uint32_t signature) override { writer_.commit(signature); }
  bool by_reference() const override { return true; }
  bool push(Slice message, uint32_t signature) override { return writer_.push(message, signature); }
  uint64_t pushed() const override { return writer_.pushed(); }
  uint64_t flushed() override { return writer_.flushed(); }
  void rest() override { writer_.rest(); }
  Status status() override { return writer_.status(); }

 private:
  shm::Writer writer_;
};

class RecvEnd final : public accl::RecvEnd {
 public:
  RecvEnd(shm::Link link, const std::byte* staging, size_t staging_size, Doorbell writer)
      : reader_(std::move(link), staging, staging_size, writer) {}

  Slice front(uint32_t signature) override { return reader_.front(signature); }
  void pop() override { reader_.pop(); }
  bool mismatched(uint32_t signature) override { return reader_.mismatched(signature); }
  uint32_t arrived() override { return reader_.arrived(); }
  Status status() override { return reader_.status(); }

 private:
  shm::Reader reader_;
};

/// Opens one end of a stream within this process: `link.pool` is needed, `link.peer` is not used,
/// and both ends use the same CommSegment object (SegmentMap). Errors as shm::open_send.
Result<std::unique_ptr<SendEnd>> open_send(shm::Link link);
Result<std::unique_ptr<RecvEnd>> open_recv(shm::Link link);

}  // namespace accl::local
