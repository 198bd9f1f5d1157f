#include "transport/shm/shm.h"

namespace accl::shm {
namespace {

Status prepare(const Link& link) {
  ACCL_TRY(check(link));
  if (link.peer == nullptr) return invalid_argument("a stream between processes needs a peer");
  return link.segment->populate_fifo(link.to, link.from, link.stream);
}

}  // namespace

Result<std::unique_ptr<SendEnd>> open_send(Link link) {
  ACCL_TRY(prepare(link));
  const Doorbell reader = link.peer->doorbell();
  return std::make_unique<SendEnd>(std::move(link), reader);
}

Result<std::unique_ptr<RecvEnd>> open_recv(Link link) {
  ACCL_TRY(prepare(link));
  const PeerPool& peer = *link.peer;
  return std::make_unique<RecvEnd>(std::move(link), peer.data(), peer.size(), peer.doorbell());
}

}  // namespace accl::shm
