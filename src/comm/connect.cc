// Connections of a communicator: opened when a plan first names them.

#include <fmt/format.h>

#include "src/comm/communicator.h"
#include "transport/local/local.h"
#include "transport/shm/shm.h"

namespace accl {

bool Communicator::is_local(Rank peer) const {
  return members_[static_cast<size_t>(peer)].process ==
         members_[static_cast<size_t>(rank_)].process;
}

TransportKind Communicator::transport(Rank peer) const {
  if (peer == rank_) return TransportKind::kSelf;
  return is_local(peer) ? TransportKind::kLocal : TransportKind::kShm;
}

// A rank alone has no segment until it sends to itself.
Status Communicator::open_segment_alone() {
  if (!segment_) segment_ = ACCL_TRY(process_.segments.create(1, kAloneStreams));
  if (pools_.empty()) pools_.resize(1);
  return {};
}

Result<SendEnd*> Communicator::send_end(Rank peer, int stream) {
  ACCL_TRY(open_segment_alone());
  const size_t index = static_cast<size_t>(peer) * static_cast<size_t>(segment_->streams()) +
                       static_cast<size_t>(stream);
  std::unique_ptr<SendEnd>& end = sends_[index];
  if (end) return end.get();
  shm::Link link{.segment = segment_,
                 .from = rank_,
                 .to = peer,
                 .stream = stream,
                 .pool = &process_.staging,
                 .peer = pools_[static_cast<size_t>(peer)]};
  if (is_local(peer)) {
    end = ACCL_TRY(local::open_send(std::move(link)));
  } else {
    end = ACCL_TRY(shm::open_send(std::move(link)));
  }
  return end.get();
}

Result<RecvEnd*> Communicator::recv_end(Rank peer, int stream) {
  ACCL_TRY(open_segment_alone());
  const size_t index = static_cast<size_t>(peer) * static_cast<size_t>(segment_->streams()) +
                       static_cast<size_t>(stream);
  std::unique_ptr<RecvEnd>& end = recvs_[index];
  if (end) return end.get();
  shm::Link link{.segment = segment_,
                 .from = peer,
                 .to = rank_,
                 .stream = stream,
                 .pool = &process_.staging,
                 .peer = pools_[static_cast<size_t>(peer)]};
  if (is_local(peer)) {
    end = ACCL_TRY(local::open_recv(std::move(link)));
  } else {
    end = ACCL_TRY(shm::open_recv(std::move(link)));
  }
  return end.get();
}

}  // namespace accl
