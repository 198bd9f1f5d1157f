#include "transport/socket/mesh.h"

#include <algorithm>
#include <utility>

namespace accl::socket {
namespace {

class SendEnd final : public accl::SendEnd {
 public:
  SendEnd(Outgoing& out, int stream) : out_(out), stream_(stream) { out_.open(stream); }

  Slice reserve(size_t bytes) override { return out_.reserve(stream_, bytes); }
  void commit(uint32_t signature) override { out_.commit(stream_, signature); }
  bool by_reference() const override { return true; }
  size_t largest_push() const override { return kMaxMessage; }
  bool push(Slice message, uint32_t signature) override {
    return out_.push(stream_, message, signature);
  }
  uint64_t pushed() const override { return out_.pushed(stream_); }
  uint64_t flushed() override { return out_.flushed(stream_); }
  bool buffers() const override { return true; }
  bool settled() override { return out_.settled(stream_); }
  Status status() override { return out_.status(); }

 private:
  Outgoing& out_;
  const int stream_;
};

class RecvEnd final : public accl::RecvEnd {
 public:
  RecvEnd(Mesh& mesh, Incoming& in, int stream) : mesh_(mesh), in_(in), stream_(stream) {
    in_.open(stream);
  }

  Slice front(uint32_t signature) override {
    const Slice message = in_.front(stream_, signature);
    if (!message) mesh_.flush();
    return message;
  }
  void pop() override { in_.pop(stream_); }
  bool mismatched(uint32_t signature) override { return in_.mismatched(stream_, signature); }
  uint32_t arrived() override { return in_.arrived(stream_); }
  Status status() override { return in_.status(); }

 private:
  Mesh& mesh_;
  Incoming& in_;
  const int stream_;
};

}  // namespace

Mesh::Mesh(const std::vector<std::string>& peers, int connections, int streams)
    : connections_(connections) {
  for (const std::string& name : peers) {
    peers_.push_back(std::unique_ptr<Peer>(
        new Peer{{name, connections, streams}, {name, connections, streams}}));
  }
}

void Mesh::attach_out(Rank rank, int connection, Fd fd) {
  peer(rank).out.attach(connection, std::move(fd));
}

void Mesh::attach_in(Rank rank, int connection, Fd fd, std::vector<std::byte> early) {
  peer(rank).in.attach(connection, std::move(fd), std::move(early));
}

void Mesh::fail(Rank rank, const Status& why) {
  peer(rank).out.fail(why.copy());
  peer(rank).in.fail(why.copy());
}

std::unique_ptr<accl::SendEnd> Mesh::open_send(Rank rank, int stream) {
  Outgoing& out = peer(rank).out;
  const std::lock_guard lock(mutex_);
  if (std::find(senders_.begin(), senders_.end(), &out) == senders_.end()) senders_.push_back(&out);
  return std::make_unique<SendEnd>(out, stream);
}

std::unique_ptr<accl::RecvEnd> Mesh::open_recv(Rank rank, int stream) {
  return std::make_unique<RecvEnd>(*this, peer(rank).in, stream);
}

void Mesh::flush() {
  const std::lock_guard lock(mutex_);
  for (Outgoing* out : senders_) {
    if (out->has_unsent()) out->flush();
  }
}

}  // namespace accl::socket
