// The shared-memory transport: streams between processes of one host.
//
// The ends are final, so that code which knows that a stream is of this kind (the inline path) pays
// for no virtual call; everybody else uses them as accl::SendEnd and accl::RecvEnd.
#pragma once

#include <memory>
#include <utility>

#include "transport/shm/stream.h"
#include "transport/transport.h"

namespace accl::shm {

class SendEnd final : public accl::SendEnd {
 public:
  SendEnd(Link link, Doorbell reader) : writer_(std::move(link), reader) {}

  Slice reserve(size_t bytes) override { return writer_.reserve(bytes); }
  void commit(uint32_t signature) override { writer_.commit(signature); }
  void rest() override { writer_.rest(); }
  Status status() override { return writer_.status(); }

 private:
  Writer writer_;
};

class RecvEnd final : public accl::RecvEnd {
 public:
  RecvEnd(Link link, const std::byte* staging, size_t staging_size, Doorbell writer)
      : reader_(std::move(link), staging, staging_size, writer) {}

  Slice front(uint32_t signature) override { return reader_.front(signature); }
  void pop() override { reader_.pop(); }
  bool mismatched(uint32_t signature) override { return reader_.mismatched(signature); }
  uint32_t arrived() override { return reader_.arrived(); }
  Status status() override { return reader_.status(); }

 private:
  Reader reader_;
};

/// Opens this process's end of a stream to, or from, another process: `link.pool` and `link.peer`
/// are needed. kInvalidArgument for ranks or streams that the segment does not have, kSystem when
/// there is no memory for the FIFO. Each end is opened once in a segment's life.
Result<std::unique_ptr<SendEnd>> open_send(Link link);
Result<std::unique_ptr<RecvEnd>> open_recv(Link link);

}  // namespace accl::shm
