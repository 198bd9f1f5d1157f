// Connections of a communicator: opened when a plan first names them.

#include <fmt/format.h>

#include "src/comm/communicator.h"
#include "src/comm/sockets.h"
#include "transport/local/local.h"
#include "transport/shm/shm.h"

namespace accl {

TransportKind Communicator::transport(Rank peer) const {
  if (peer == rank_) return TransportKind::kSelf;
  if (!hosts_.same(peer, rank_)) return TransportKind::kSocket;
  const Member& there = members_[static_cast<size_t>(peer)];
  const Member& here = members_[static_cast<size_t>(rank_)];
  const bool one_process = there.process == here.process;
  const bool direct = !there.p2p_disable && !here.p2p_disable;
  return one_process && direct ? TransportKind::kLocal : TransportKind::kShm;
}

// A rank alone on its host has no segment until it sends to itself.
Status Communicator::open_segment_alone() {
  if (!segment_) segment_ = ACCL_TRY(process_.segments.create(1, streams()));
  if (pools_.empty()) pools_.resize(static_cast<size_t>(size_));
  return {};
}

// The segment knows this host's ranks by their places.
shm::Link Communicator::memory_link(Rank peer, bool sends, int stream) {
  const Rank here = hosts_.place[static_cast<size_t>(rank_)];
  const Rank there = hosts_.place[static_cast<size_t>(peer)];
  return {.segment = segment_,
          .from = sends ? here : there,
          .to = sends ? there : here,
          .stream = stream,
          .pool = &process_.staging,
          .peer = pools_[static_cast<size_t>(peer)]};
}

Result<SendEnd*> Communicator::send_end(Rank peer, int stream) {
  std::unique_ptr<SendEnd>& end = sends_[end_index(peer, stream)];
  if (end) return end.get();
  const TransportKind kind = transport(peer);
  if (kind == TransportKind::kSocket) {
    end = ACCL_TRY(sockets_->open_send(peer, stream));
    return end.get();
  }
  ACCL_TRY(open_segment_alone());
  shm::Link link = memory_link(peer, true, stream);
  if (kind == TransportKind::kShm) {
    end = ACCL_TRY(shm::open_send(std::move(link)));
  } else {
    end = ACCL_TRY(local::open_send(std::move(link)));
  }
  return end.get();
}

Result<RecvEnd*> Communicator::recv_end(Rank peer, int stream) {
  std::unique_ptr<RecvEnd>& end = recvs_[end_index(peer, stream)];
  if (end) return end.get();
  const TransportKind kind = transport(peer);
  if (kind == TransportKind::kSocket) {
    end = ACCL_TRY(sockets_->open_recv(peer, stream));
    return end.get();
  }
  ACCL_TRY(open_segment_alone());
  shm::Link link = memory_link(peer, false, stream);
  if (kind == TransportKind::kShm) {
    end = ACCL_TRY(shm::open_recv(std::move(link)));
  } else {
    end = ACCL_TRY(local::open_recv(std::move(link)));
  }
  return end.get();
}

}  // namespace accl
