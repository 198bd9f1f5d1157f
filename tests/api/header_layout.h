/* Layouts and numbers of nccl.h against the 2.27 column of the reference, checked by the compiler
 * in C99 and in C++: an enumerator whose condition is false divides by zero and does not compile.
 * Include after nccl.h; nothing here exists at run time. */
#pragma once

#include <stddef.h>

enum header_layout {
  version_ok = 1 / (NCCL_VERSION_CODE == 22707 && NCCL_VERSION(2, 8, 4) == 2804 &&
                    NCCL_VERSION(2, 9, 6) == 20906 && NCCL_VERSION(2, 27, 7) == 22707 &&
                    NCCL_MAJOR == 2 && NCCL_MINOR == 27 && NCCL_PATCH == 7),

  config_size = 1 / (sizeof(ncclConfig_t) == 72),
  config_size_at = 1 / (offsetof(ncclConfig_t, size) == 0),
  config_magic = 1 / (offsetof(ncclConfig_t, magic) == 8),
  config_version = 1 / (offsetof(ncclConfig_t, version) == 12),
  config_blocking = 1 / (offsetof(ncclConfig_t, blocking) == 16),
  config_cga = 1 / (offsetof(ncclConfig_t, cgaClusterSize) == 20),
  config_min = 1 / (offsetof(ncclConfig_t, minCTAs) == 24),
  config_max = 1 / (offsetof(ncclConfig_t, maxCTAs) == 28),
  config_net = 1 / (offsetof(ncclConfig_t, netName) == 32),
  config_split = 1 / (offsetof(ncclConfig_t, splitShare) == 40),
  config_traffic = 1 / (offsetof(ncclConfig_t, trafficClass) == 44),
  config_name = 1 / (offsetof(ncclConfig_t, commName) == 48),
  config_collnet = 1 / (offsetof(ncclConfig_t, collnetEnable) == 56),
  config_policy = 1 / (offsetof(ncclConfig_t, CTAPolicy) == 60),
  config_shrink = 1 / (offsetof(ncclConfig_t, shrinkShare) == 64),
  config_nvls = 1 / (offsetof(ncclConfig_t, nvlsCTAs) == 68),

  id_size = 1 / (sizeof(ncclUniqueId) == 128 && NCCL_UNIQUE_ID_BYTES == 128),
  sim_size =
      1 / (sizeof(ncclSimInfo_t) == 24 && offsetof(ncclSimInfo_t, magic) == 8 &&
           offsetof(ncclSimInfo_t, version) == 12 && offsetof(ncclSimInfo_t, estimatedTime) == 16),
  wait_size =
      1 / (sizeof(ncclWaitSignalDesc_t) == 16 && offsetof(ncclWaitSignalDesc_t, opCnt) == 0 &&
           offsetof(ncclWaitSignalDesc_t, peer) == 4 &&
           offsetof(ncclWaitSignalDesc_t, sigIdx) == 8 &&
           offsetof(ncclWaitSignalDesc_t, ctx) == 12),
  pointers = 1 / (sizeof(ncclComm_t) == 8 && sizeof(ncclWindow_t) == 8 &&
                  sizeof(ncclParamHandle_t) == 8 && sizeof(cudaStream_t) == 8),
  enums =
      1 / (sizeof(ncclResult_t) == 4 && sizeof(ncclDataType_t) == 4 && sizeof(ncclRedOp_t) == 4 &&
           sizeof(ncclScalarResidence_t) == 4 && sizeof(ncclCommMemStat_t) == 4),

  results = 1 / (ncclSuccess == 0 && ncclUnhandledCudaError == 1 && ncclSystemError == 2 &&
                 ncclInternalError == 3 && ncclInvalidArgument == 4 && ncclInvalidUsage == 5 &&
                 ncclRemoteError == 6 && ncclInProgress == 7 && ncclNumResults == 8),
  types =
      1 / (ncclInt8 == 0 && ncclUint8 == 1 && ncclInt32 == 2 && ncclUint32 == 3 && ncclInt64 == 4 &&
           ncclUint64 == 5 && ncclFloat16 == 6 && ncclFloat32 == 7 && ncclFloat64 == 8 &&
           ncclBfloat16 == 9 && ncclFloat8e4m3 == 10 && ncclFloat8e5m2 == 11 && ncclNumTypes == 12),
  type_aliases =
      1 / (ncclChar == 0 && ncclInt == 2 && ncclHalf == 6 && ncclFloat == 7 && ncclDouble == 8),
  operators = 1 / (ncclSum == 0 && ncclProd == 1 && ncclMax == 2 && ncclMin == 3 && ncclAvg == 4 &&
                   ncclNumOps == 5 && ncclMaxRedOp == 0x7fffffff),
  residences = 1 / (ncclScalarDevice == 0 && ncclScalarHostImmediate == 1),
  memory_stats = 1 / (ncclStatGpuMemSuspend == 0 && ncclStatGpuMemSuspended == 1 &&
                      ncclStatGpuMemPersist == 2 && ncclStatGpuMemTotal == 3),

  macros =
      1 / (NCCL_CONFIG_UNDEF_INT == INT_MIN && NCCL_SPLIT_NOCOLOR == -1 &&
           NCCL_API_MAGIC == 0xcafebeef && NCCL_WIN_DEFAULT == 0 && NCCL_WIN_COLL_SYMMETRIC == 1 &&
           NCCL_WIN_STRICT_ORDERING == 2 && NCCL_WIN_REQUIRED_ALIGNMENT == 4096 &&
           NCCL_CTA_POLICY_DEFAULT == 0 && NCCL_CTA_POLICY_EFFICIENCY == 1 &&
           NCCL_CTA_POLICY_ZERO == 2 && NCCL_SHRINK_DEFAULT == 0 && NCCL_SHRINK_ABORT == 1 &&
           NCCL_REVOKE_DEFAULT == 0 && NCCL_SUSPEND_MEM == 1)
};
