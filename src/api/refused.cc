// The functions that later versions bring: each says so and returns ncclInvalidUsage.
//
// They are exported because programs and wrappers resolve all names when they load the library
// (docs/compat.md has the table). Handles that a caller might look at in spite of the error are
// NULL.
#include "src/api/export.h"
#include "src/api/last_error.h"

namespace {

using accl::refuse;

template <class T>
void clear(T** out) {
  if (out != nullptr) *out = nullptr;
}

}  // namespace

ACCL_API(ncclResult_t, ncclCommInitRankScalable,
         (ncclComm_t * newcomm, int, int, int, ncclUniqueId*, ncclConfig_t*)) {
  clear(newcomm);
  return refuse("ncclCommInitRankScalable");
}

ACCL_API(ncclResult_t, ncclCommRevoke, (ncclComm_t, int)) { return refuse("ncclCommRevoke"); }

ACCL_API(ncclResult_t, ncclCommSplit, (ncclComm_t, int, int, ncclComm_t* newcomm, ncclConfig_t*)) {
  clear(newcomm);
  return refuse("ncclCommSplit");
}

ACCL_API(ncclResult_t, ncclCommShrink,
         (ncclComm_t, int*, int, ncclComm_t* newcomm, ncclConfig_t*, int)) {
  clear(newcomm);
  return refuse("ncclCommShrink");
}

ACCL_API(ncclResult_t, ncclCommGetUniqueId, (ncclComm_t, ncclUniqueId*)) {
  return refuse("ncclCommGetUniqueId");
}

ACCL_API(ncclResult_t, ncclCommGrow,
         (ncclComm_t, int, const ncclUniqueId*, int, ncclComm_t* newcomm, ncclConfig_t*)) {
  clear(newcomm);
  return refuse("ncclCommGrow");
}

ACCL_API(ncclResult_t, ncclCommSuspend, (ncclComm_t, int)) { return refuse("ncclCommSuspend"); }

ACCL_API(ncclResult_t, ncclCommResume, (ncclComm_t)) { return refuse("ncclCommResume"); }

ACCL_API(ncclResult_t, ncclCommMemStats, (ncclComm_t, ncclCommMemStat_t, uint64_t*)) {
  return refuse("ncclCommMemStats");
}

ACCL_API(ncclResult_t, ncclGather,
         (const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t)) {
  return refuse("ncclGather");
}

ACCL_API(ncclResult_t, ncclScatter,
         (const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t)) {
  return refuse("ncclScatter");
}

ACCL_API(ncclResult_t, ncclPutSignal,
         (const void*, size_t, ncclDataType_t, int, ncclWindow_t, size_t, int, int, unsigned int,
          ncclComm_t, cudaStream_t)) {
  return refuse("ncclPutSignal");
}

ACCL_API(ncclResult_t, ncclSignal, (int, int, int, unsigned int, ncclComm_t, cudaStream_t)) {
  return refuse("ncclSignal");
}

ACCL_API(ncclResult_t, ncclWaitSignal, (int, ncclWaitSignalDesc_t*, ncclComm_t, cudaStream_t)) {
  return refuse("ncclWaitSignal");
}

ACCL_API(ncclResult_t, ncclGroupSimulateEnd, (ncclSimInfo_t*)) {
  return refuse("ncclGroupSimulateEnd");
}

ACCL_API(ncclResult_t, ncclCommWindowRegister,
         (ncclComm_t, void*, size_t, ncclWindow_t* win, int)) {
  clear(win);
  return refuse("ncclCommWindowRegister");
}

ACCL_API(ncclResult_t, ncclCommWindowDeregister, (ncclComm_t, ncclWindow_t)) {
  return refuse("ncclCommWindowDeregister");
}

ACCL_API(ncclResult_t, ncclWinGetUserPtr, (ncclComm_t, ncclWindow_t, void** outUserPtr)) {
  clear(outUserPtr);
  return refuse("ncclWinGetUserPtr");
}
