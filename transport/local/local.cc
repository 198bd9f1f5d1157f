#include "transport/local/local.h"

namespace accl::local {
namespace {

Status prepare(shm::Link& link) {
  link.peer = nullptr;  // marks a stream whose reader may be given addresses
  ACCL_TRY(shm::check(link));
  return link.segment->populate_fifo(link.to, link.from, link.stream);
}

}  // namespace

Result<std::unique_ptr<SendEnd>> open_send(shm::Link link) {
  ACCL_TRY(prepare(link));
  const Doorbell reader = link.pool->doorbell();
  return std::make_unique<SendEnd>(std::move(link), reader);
}

Result<std::unique_ptr<RecvEnd>> open_recv(shm::Link link) {
  ACCL_TRY(prepare(link));
  const shm::StagingPool& pool = *link.pool;
  return std::make_unique<RecvEnd>(std::move(link), pool.data(), pool.size(), pool.doorbell());
}

}  // namespace accl::local
