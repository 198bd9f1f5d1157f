// Making and ending communicators, and the questions that one can ask them.

#include <fmt/format.h>
#include <sched.h>

#include <cstring>
#include <memory>
#include <vector>

#include "accl/device.h"
#include "src/api/boundary.h"
#include "src/api/export.h"
#include "src/api/group.h"
#include "src/api/user_config.h"
#include "src/api/world.h"
#include "src/base/clock.h"
#include "src/base/log.h"

namespace accl {
namespace {

constexpr uint64_t kLeaveNs = kNsPerSecond;

Result<int> current_device() {
  int device = 0;
  if (acclGetDevice(&device) != acclSuccess) return system_error(acclGetLastErrorText());
  return device;
}

Status check_ranks(int ranks, int rank) {
  if (ranks < 1) return invalid_argument(fmt::format("nranks {} is not positive", ranks));
  if (rank < 0 || rank >= ranks) {
    return invalid_argument(fmt::format("rank {} is not in 0..{}", rank, ranks - 1));
  }
  return {};
}

Status join(ncclComm_t handle, const JoinRequest& request) {
  const LogScope scope(request.device);
  World* world = ACCL_TRY(World::get());
  auto made = Communicator::create(request, world->process(), handle->abort);
  if (!made.ok()) return std::move(made.status());
  handle->communicator.store(made->release(), std::memory_order_seq_cst);
  handle->state.store(ncclComm::kLive, std::memory_order_release);
  return {};
}

// Another thread may watch for the handle while the call goes on.
void publish(ncclComm_t* comm, ncclComm_t handle) {
  __atomic_store_n(comm, handle, __ATOMIC_RELEASE);
}

// The handle is the user's before the ranks have met, so that another thread can abort the wait.
Status init_rank(ncclComm_t* comm, JoinRequest request) {
  request.config = ACCL_TRY(World::config());
  ncclComm_t handle = new_handle();
  if (handle == nullptr) return system_error("no memory for another communicator handle");
  handle->rank.store(request.rank);
  publish(comm, handle);
  return submit_init([comm, handle, request = std::move(request)](bool run) {
    Status joined;
    try {
      joined = run ? join(handle, request) : invalid_usage("its group has failed");
    } catch (const std::bad_alloc&) {
      joined = system_error("out of memory");
    }
    if (joined.ok()) return joined;
    publish(comm, nullptr);
    handle->state.store(ncclComm::kGone, std::memory_order_release);
    return joined;
  });
}

Status check_and_init(ncclComm_t* comm, int nranks, const ncclUniqueId& id, int rank,
                      const ncclConfig_t* config) {
  if (comm == nullptr) return invalid_argument("comm is NULL");
  publish(comm, nullptr);
  ACCL_TRY(check_ranks(nranks, rank));
  JoinRequest request{.ranks = nranks, .rank = rank};
  if (config != nullptr) ACCL_TRY(apply_user_config(*config, request));
  request.id = ACCL_TRY(UniqueId::parse(std::as_bytes(std::span(id.internal))));
  request.device = ACCL_TRY(current_device());
  return init_rank(comm, std::move(request));
}

Status init_rank_config(ncclComm_t* comm, int nranks, const ncclUniqueId& id, int rank,
                        const ncclConfig_t* config) {
  Status result = check_and_init(comm, nranks, id, rank, config);
  if (!result.ok() && in_group()) group_refused(result);
  return result;
}

// Without a list the ranks take the devices in turn: there may be more ranks.
int device_of(int rank, const int* devices, int available) {
  return devices != nullptr ? devices[rank] : rank % available;
}

Status init_all(ncclComm_t* comms, int count, const int* devices) {
  if (comms == nullptr) return invalid_argument("comm is NULL");
  if (count < 1) return invalid_argument(fmt::format("ndev {} is not positive", count));
  int available = 0;
  if (acclGetDeviceCount(&available) != acclSuccess) return system_error(acclGetLastErrorText());
  for (int i = 0; i < count; i++) {
    const int device = device_of(i, devices, available);
    if (device >= 0 && device < available) continue;
    return invalid_argument(fmt::format(
        "device {} (rank {}) does not exist: there are {} (ACCL_HOST_DEVICES); a list may name a "
        "device several times",
        device, i, available));
  }
  World* world = ACCL_TRY(World::get());
  const UniqueId id = ACCL_TRY(world->process().bootstrap.create_id());
  group_start();
  for (int i = 0; i < count; i++) {
    JoinRequest request{
        .id = id, .ranks = count, .rank = i, .device = device_of(i, devices, available)};
    try {
      if (Status started = init_rank(&comms[i], std::move(request)); !started.ok()) {
        group_failed(started);
      }
    } catch (const std::bad_alloc&) {
      group_failed(system_error("out of memory"));
    }
  }
  return group_end();
}

// Ends the handle: nobody enters any more, whoever is inside leaves. False: somebody did not.
bool close_handle(ncclComm_t handle) {
  handle->state.store(ncclComm::kGone, std::memory_order_release);
  const uint64_t deadline = now_ns() + kLeaveNs;
  while (handle->users.load(std::memory_order_seq_cst) > 0) {
    if (now_ns() > deadline) return false;
    sched_yield();
  }
  return true;
}

// The end of a communicator whose operations have all ended. Its failed streams work again.
void retire(ncclComm_t handle, Communicator* communicator) {
  const bool left = close_handle(handle);
  communicator->close();
  for (const cudaStream_t stream : communicator->take_failed_streams()) {
    static_cast<void>(acclStreamReset(stream));
  }
  if (left) Communicator::drop(communicator);
}

Status finalize(const Use& use, ncclComm_t handle) {
  if (handle->finalized.exchange(true)) return invalid_argument("finalized already");
  if (use->failed()) return use->failure();
  return use->drain();
}

Status destroy(ncclComm_t handle) {
  if (handle == nullptr) return {};
  Status result;
  {
    const Use use(handle);
    if (!use) return use.why_not();
    if (!handle->finalized.exchange(true) && !use->failed()) result = use->drain();
  }
  Communicator* communicator = handle->communicator.exchange(nullptr, std::memory_order_seq_cst);
  if (communicator == nullptr) return invalid_argument("comm is being destroyed by another thread");
  if (communicator->failed()) communicator->fail_queued();
  retire(handle, communicator);
  return result;
}

Status abort_join(ncclComm_t handle) {
  handle->abort.store(true);
  const uint64_t deadline = now_ns() + kLeaveNs;
  while (handle->state.load(std::memory_order_acquire) == ncclComm::kJoining) {
    if (now_ns() > deadline) return {};  // the join ends by itself and frees what it has
    sched_yield();
  }
  return {};
}

Status abort(ncclComm_t handle) {
  if (handle == nullptr) return {};
  if (is_handle(handle) && handle->state.load() == ncclComm::kJoining) {
    ACCL_TRY(abort_join(handle));
    if (handle->state.load() != ncclComm::kLive) return {};
  }
  {
    const Use use(handle);
    if (!use) return use.why_not();
    use->abort();
  }
  Communicator* communicator = handle->communicator.exchange(nullptr, std::memory_order_seq_cst);
  if (communicator == nullptr) return {};
  communicator->fail_queued();
  retire(handle, communicator);
  return {};
}

Status ask(ncclComm_t handle, const char* what, int* answer,
           int (Communicator::*question)() const) {
  const Use use(handle);
  if (!use) return use.why_not();
  if (answer == nullptr) return invalid_argument(fmt::format("{} is NULL", what));
  *answer = ((*use).*question)();
  return {};
}

}  // namespace
}  // namespace accl

using accl::boundary;
using accl::Communicator;
using accl::Status;
using accl::Use;

ACCL_API(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * uniqueId)) {
  return boundary("ncclGetUniqueId", [&]() -> Status {
    if (uniqueId == nullptr) return accl::invalid_argument("uniqueId is NULL");
    static_cast<void>(ACCL_TRY(accl::World::config()));
    accl::World* world = ACCL_TRY(accl::World::get());
    const accl::UniqueId id = ACCL_TRY(world->process().bootstrap.create_id());
    static_assert(sizeof(ncclUniqueId) == accl::UniqueId::kBytes);
    std::memcpy(uniqueId->internal, id.bytes().data(), sizeof(ncclUniqueId));
    return {};
  });
}

ACCL_API(ncclResult_t, ncclCommInitRank,
         (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank)) {
  return boundary("ncclCommInitRank",
                  [&] { return accl::init_rank_config(comm, nranks, commId, rank, nullptr); });
}

ACCL_API(ncclResult_t, ncclCommInitRankConfig,
         (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config)) {
  return boundary("ncclCommInitRankConfig",
                  [&] { return accl::init_rank_config(comm, nranks, commId, rank, config); });
}

ACCL_API(ncclResult_t, ncclCommInitAll, (ncclComm_t * comm, int ndev, const int* devlist)) {
  return boundary("ncclCommInitAll", [&] { return accl::init_all(comm, ndev, devlist); });
}

ACCL_API(ncclResult_t, ncclCommFinalize, (ncclComm_t comm)) {
  return boundary("ncclCommFinalize", [&]() -> Status {
    if (comm == nullptr) return {};
    const Use use(comm);
    if (!use) return use.why_not();
    return accl::finalize(use, comm);
  });
}

ACCL_API(ncclResult_t, ncclCommDestroy, (ncclComm_t comm)) {
  return boundary("ncclCommDestroy", [&] { return accl::destroy(comm); });
}

ACCL_API(ncclResult_t, ncclCommAbort, (ncclComm_t comm)) {
  return boundary("ncclCommAbort", [&] { return accl::abort(comm); });
}

ACCL_API(ncclResult_t, ncclCommCount, (const ncclComm_t comm, int* count)) {
  return boundary("ncclCommCount",
                  [&] { return accl::ask(comm, "count", count, &Communicator::size); });
}

ACCL_API(ncclResult_t, ncclCommCuDevice, (const ncclComm_t comm, int* device)) {
  return boundary("ncclCommCuDevice",
                  [&] { return accl::ask(comm, "device", device, &Communicator::device); });
}

ACCL_API(ncclResult_t, ncclCommUserRank, (const ncclComm_t comm, int* rank)) {
  return boundary("ncclCommUserRank",
                  [&] { return accl::ask(comm, "rank", rank, &Communicator::rank); });
}

ACCL_API(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError)) {
  return boundary("ncclCommGetAsyncError", [&]() -> Status {
    if (asyncError == nullptr) return accl::invalid_argument("asyncError is NULL");
    const Use use(comm);
    if (!use) {
      if (!accl::is_handle(comm) || comm->state.load() != ncclComm::kJoining) return use.why_not();
      *asyncError = ncclInProgress;
      return {};
    }
    use->check_peers();
    const Status failure = use->failure();
    *asyncError = static_cast<ncclResult_t>(failure.code());
    if (!failure.ok()) accl::record_error({}, failure);
    return {};
  });
}
