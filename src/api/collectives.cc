// The collectives and point-to-point calls of nccl.h: arguments are checked here, once, and become
// a Call. A refused argument leaves the communicator usable and disturbs no peer.

#include <fmt/format.h>

#include "accl/device.h"
#include "src/api/boundary.h"
#include "src/api/export.h"
#include "src/api/group.h"

namespace accl {
namespace {

static_assert(static_cast<int>(ncclFloat8e5m2) == static_cast<int>(DataType::kFloat8e5m2));
static_assert(static_cast<int>(ncclNumTypes) == kDataTypes);
static_assert(static_cast<int>(ncclMin) == static_cast<int>(ReduceOp::kMin));
static_assert(static_cast<int>(ncclAvg) == kOpAvg && static_cast<int>(ncclNumOps) == kFirstUserOp);

// How many elements each buffer of a collective has, in units of `count`.
struct Extents {
  size_t in = 1;
  size_t out = 1;
};

Extents extents_of(Collective collective, int ranks) {
  const auto n = static_cast<size_t>(ranks);
  switch (collective) {
    case Collective::kAllGather:
      return {1, n};
    case Collective::kReduceScatter:
      return {n, 1};
    case Collective::kAllToAll:
      return {n, n};
    default:
      return {1, 1};
  }
}

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce;
}

// The place of `out` relative to `in` that is allowed although they overlap.
const std::byte* in_place_out(const CollectiveCall& call, Rank rank, size_t block_bytes) {
  const auto* in = static_cast<const std::byte*>(call.in);
  const size_t own = static_cast<size_t>(rank) * block_bytes;
  switch (call.collective) {
    case Collective::kAllGather:
      return reinterpret_cast<const std::byte*>(reinterpret_cast<uintptr_t>(in) - own);
    case Collective::kReduceScatter:
      return in + own;
    case Collective::kAllToAll:
      return nullptr;
    default:
      return in;
  }
}

Status check_overlap(const CollectiveCall& call, Rank rank, Extents extents) {
  const size_t bytes = call.count * size_of(call.type);
  const auto* in = static_cast<const std::byte*>(call.in);
  const auto* out = static_cast<const std::byte*>(call.out);
  const size_t in_bytes = extents.in * bytes;
  const size_t out_bytes = extents.out * bytes;
  const auto from = reinterpret_cast<uintptr_t>(in);
  const auto to = reinterpret_cast<uintptr_t>(out);
  if (from >= to + out_bytes || to >= from + in_bytes) [[likely]]
    return {};
  if (out == in_place_out(call, rank, bytes)) return {};
  return invalid_argument(fmt::format(
      "sendbuff {} ({} bytes) and recvbuff {} ({} bytes) overlap, and not in the in-place form",
      call.in, in_bytes, static_cast<const void*>(call.out), out_bytes));
}

Status check_type(int type) {
  if (static_cast<unsigned>(type) < static_cast<unsigned>(kDataTypes)) [[likely]]
    return {};
  return invalid_argument(fmt::format("datatype {} is not in 0..{}", type, kDataTypes - 1));
}

Status check_rank(const char* what, int rank, int ranks) {
  if (static_cast<unsigned>(rank) < static_cast<unsigned>(ranks)) [[likely]]
    return {};
  return invalid_argument(fmt::format("{} {} is not in 0..{}", what, rank, ranks - 1));
}

Status check_count(size_t count, size_t times, DataType type) {
  size_t bytes = 0;
  if (!__builtin_mul_overflow(count, times * size_of(type), &bytes) && bytes < SIZE_MAX / 2)
      [[likely]]
    return {};
  return invalid_argument(fmt::format("count {} is larger than any memory", count));
}

Status check_stream(cudaStream_t stream) {
  int device = 0;
  if (stream == nullptr || acclStreamDevice(stream, &device) == acclSuccess) [[likely]]
    return {};
  return invalid_argument(
      fmt::format("stream {} is not a stream of this device", static_cast<const void*>(stream)));
}

Status check_pointers(const CollectiveCall& call, Rank rank, Extents extents) {
  const bool root = !has_root(call.collective) || rank == call.root;
  const bool uses_in = call.collective != Collective::kBroadcast || root;
  const bool uses_out = call.collective != Collective::kReduce || root;
  if (uses_in && call.in == nullptr) return invalid_argument("sendbuff is NULL");
  if (uses_out && call.out == nullptr) return invalid_argument("recvbuff is NULL");
  return uses_in && uses_out ? check_overlap(call, rank, extents) : Status();
}

Status check(const Communicator& communicator, CollectiveCall& call, int type,
             cudaStream_t stream) {
  ACCL_TRY(check_type(type));
  const Extents extents = extents_of(call.collective, communicator.size());
  ACCL_TRY(check_count(call.count, std::max(extents.in, extents.out), call.type));
  if (has_root(call.collective)) ACCL_TRY(check_rank("root", call.root, communicator.size()));
  if (reduces(call.collective)) ACCL_TRY(communicator.check_op(call));
  ACCL_TRY(check_stream(stream));
  if (call.count == 0) return {};
  return check_pointers(call, communicator.rank(), extents);
}

// What every call begins with: the communicator is there, whole, and not finished.
Status usable(const Use& use, ncclComm_t handle) {
  if (!use) [[unlikely]]
    return use.why_not();
  if (handle->finalized.load(std::memory_order_relaxed)) [[unlikely]]
    return invalid_argument("the communicator has been finalized");
  use->check_peers();
  return use->failure();
}

Status note(Status status) {
  if (!status.ok() && in_group()) group_refused(status);
  return status;
}

ncclResult_t collective(const char* name, CollectiveCall call, ncclDataType_t type,
                        ncclComm_t handle, cudaStream_t stream) {
  return boundary(name, [&]() -> Status {
    const Use use(handle);
    if (Status fine = usable(use, handle); !fine.ok()) return note(std::move(fine));
    call.type = static_cast<DataType>(type);
    if (Status checked = check(*use, call, static_cast<int>(type), stream); !checked.ok()) {
      return note(std::move(checked));
    }
    if (call.count == 0) return {};
    return submit({.communicator = &*use, .handle = handle, .stream = stream, .collective = call});
  });
}

Status check_transfer(const Communicator& communicator, const PointToPointCall& call, size_t count,
                      int type, cudaStream_t stream) {
  ACCL_TRY(check_type(type));
  ACCL_TRY(check_count(count, 1, static_cast<DataType>(type)));
  ACCL_TRY(check_rank("peer", call.peer, communicator.size()));
  ACCL_TRY(check_stream(stream));
  if (count > 0 && call.data == nullptr) {
    return invalid_argument(call.send ? "sendbuff is NULL" : "recvbuff is NULL");
  }
  return {};
}

ncclResult_t transfer(PointToPointCall call, size_t count, ncclDataType_t type, ncclComm_t handle,
                      cudaStream_t stream) {
  return boundary(call.send ? "ncclSend" : "ncclRecv", [&]() -> Status {
    const Use use(handle);
    if (Status fine = usable(use, handle); !fine.ok()) return note(std::move(fine));
    Status checked = check_transfer(*use, call, count, static_cast<int>(type), stream);
    if (!checked.ok()) return note(std::move(checked));
    call.bytes = count * size_of(static_cast<DataType>(type));
    return submit({.communicator = &*use,
                   .handle = handle,
                   .stream = stream,
                   .transfer = call,
                   .is_point_to_point = true});
  });
}

}  // namespace
}  // namespace accl

using accl::Collective;

ACCL_API(ncclResult_t, ncclAllReduce,
         (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
          ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)) {
  return accl::collective("ncclAllReduce",
                          {.collective = Collective::kAllReduce,
                           .in = sendbuff,
                           .out = recvbuff,
                           .count = count,
                           .op = static_cast<int>(op),
                           .root = -1},
                          datatype, comm, stream);
}

ACCL_API(ncclResult_t, ncclAllGather,
         (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
          ncclComm_t comm, cudaStream_t stream)) {
  return accl::collective("ncclAllGather",
                          {.collective = Collective::kAllGather,
                           .in = sendbuff,
                           .out = recvbuff,
                           .count = sendcount,
                           .root = -1},
                          datatype, comm, stream);
}

ACCL_API(ncclResult_t, ncclReduceScatter,
         (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
          ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)) {
  return accl::collective("ncclReduceScatter",
                          {.collective = Collective::kReduceScatter,
                           .in = sendbuff,
                           .out = recvbuff,
                           .count = recvcount,
                           .op = static_cast<int>(op),
                           .root = -1},
                          datatype, comm, stream);
}

ACCL_API(ncclResult_t, ncclBroadcast,
         (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
          ncclComm_t comm, cudaStream_t stream)) {
  return accl::collective("ncclBroadcast",
                          {.collective = Collective::kBroadcast,
                           .in = sendbuff,
                           .out = recvbuff,
                           .count = count,
                           .root = root},
                          datatype, comm, stream);
}

ACCL_API(ncclResult_t, ncclBcast,
         (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
          cudaStream_t stream)) {
  return accl::collective(
      "ncclBcast",
      {.collective = Collective::kBroadcast, .in = buff, .out = buff, .count = count, .root = root},
      datatype, comm, stream);
}

ACCL_API(ncclResult_t, ncclReduce,
         (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
          ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)) {
  return accl::collective("ncclReduce",
                          {.collective = Collective::kReduce,
                           .in = sendbuff,
                           .out = recvbuff,
                           .count = count,
                           .op = static_cast<int>(op),
                           .root = root},
                          datatype, comm, stream);
}

ACCL_API(ncclResult_t, ncclAlltoAll,
         (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
          ncclComm_t comm, cudaStream_t stream)) {
  return accl::collective("ncclAlltoAll",
                          {.collective = Collective::kAllToAll,
                           .in = sendbuff,
                           .out = recvbuff,
                           .count = count,
                           .root = -1},
                          datatype, comm, stream);
}

ACCL_API(ncclResult_t, ncclSend,
         (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
          cudaStream_t stream)) {
  return accl::transfer({.send = true, .data = const_cast<void*>(sendbuff), .peer = peer}, count,
                        datatype, comm, stream);
}

ACCL_API(ncclResult_t, ncclRecv,
         (void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
          cudaStream_t stream)) {
  return accl::transfer({.send = false, .data = recvbuff, .peer = peer}, count, datatype, comm,
                        stream);
}

ACCL_API(ncclResult_t, ncclGroupStart, ()) {
  accl::group_start();
  return ncclSuccess;
}

ACCL_API(ncclResult_t, ncclGroupEnd, ()) {
  return accl::boundary("ncclGroupEnd", [] { return accl::group_end(); });
}
