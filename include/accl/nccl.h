/* NCCL's API as ACCL implements it, for C99 and C++; installed as <nccl.h> too.
 *
 * For whom: programs written for NCCL. Names, numbers and layouts are those of NCCL 2.27.7; the
 * functions that NCCL 2.28 to 2.30 added are declared and exported as well. What each function and
 * each setting does here, and which are refused, stands in docs/compat.md.
 *
 * With the CUDA toolkit's cuda_runtime.h at hand cudaStream_t is CUDA's; without it, or if
 * ACCL_NO_CUDA is defined, it is an equal pointer type, the stream of accl/device.h. The binary
 * interface is the same both ways.
 *
 * Conventions of all functions that return ncclResult_t:
 * - ncclInvalidArgument: an argument is wrong; ncclInvalidUsage: the call does not fit here, or the
 *   ranks called different things; ncclSystemError: the system refused something; ncclRemoteError:
 * a peer is gone or time ran out. ncclGetLastError has the text with names and values.
 * - A refused argument leaves the communicator usable and disturbs no peer.
 * - One thread at a time uses a communicator, except where a function says otherwise. A thread may
 *   use any number of communicators.
 * - Every ncclX is a weak symbol and has a strong twin pncclX, so that a tracer may define ncclX
 *   itself and call pncclX.
 */
#pragma once
#ifndef NCCL_H_ /* this file is installed under two names */
#define NCCL_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(ACCL_NO_CUDA) && defined(__has_include)
#if __has_include(<cuda_runtime.h>)
#define ACCL_HAS_CUDA 1 /**< cudaStream_t below is that of the CUDA toolkit */
#include <cuda_runtime.h>
#if __has_include(<cuda_fp16.h>)
#include <cuda_fp16.h>
#endif
#if __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#endif
#if defined(__cplusplus) && __has_include(<cuda_fp8.h>)
#include <cuda_fp8.h>
#endif
#endif
#endif

#ifndef ACCL_HAS_CUDA
/** A stream: work in order. The same type as acclStream_t of accl/device.h. NULL is synchronous. */
typedef struct CUstream_st* cudaStream_t;
#endif

#define NCCL_MAJOR 2   /**< version of NCCL whose interface this is */
#define NCCL_MINOR 27  /**< see NCCL_MAJOR */
#define NCCL_PATCH 7   /**< see NCCL_MAJOR */
#define NCCL_SUFFIX "" /**< see NCCL_MAJOR */

#define NCCL_VERSION_CODE 22707 /**< NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH) */
/** The number of a version, as ncclGetVersion gives it: 2.8.4 is 2804, 2.27.7 is 22707. */
#define NCCL_VERSION(X, Y, Z) \
  (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types ------------------------------------------------------------------------------ */

/** A rank's membership in a group of ranks. Handles are looked up: a freed one is refused. */
typedef struct ncclComm* ncclComm_t;
#define NCCL_COMM_NULL NULL /**< no communicator */

/** Registered memory that peers may reach. */
typedef struct ncclWindow_vidmem* ncclWindow_t;

#define NCCL_UNIQUE_ID_BYTES 128 /**< size of ncclUniqueId */
/** What ranks must share to find each other; opaque, passed by value, moved as plain bytes. It
 * holds a secret: who knows it may join. */
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES]; /**< opaque */
} ncclUniqueId;

/** What a call came to. */
typedef enum {
  ncclSuccess = 0,            /**< done, or enqueued */
  ncclUnhandledCudaError = 1, /**< the device failed */
  ncclSystemError = 2,        /**< a system call failed */
  ncclInternalError = 3,      /**< a bug of the library */
  ncclInvalidArgument = 4,    /**< an argument is wrong */
  ncclInvalidUsage = 5, /**< the call does not fit the state, the settings or the other ranks */
  ncclRemoteError = 6,  /**< a peer is gone, or time ran out */
  ncclInProgress = 7,   /**< not done yet; see ncclCommGetAsyncError */
  ncclNumResults = 8    /**< how many there are */
} ncclResult_t;

/** Type of the elements of a buffer. */
typedef enum {
  ncclInt8 = 0,
  ncclChar = 0, /**< ncclInt8 */
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2, /**< ncclInt32 */
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6, /**< ncclFloat16 */
  ncclFloat32 = 7,
  ncclFloat = 7, /**< ncclFloat32 */
  ncclFloat64 = 8,
  ncclDouble = 8, /**< ncclFloat64 */
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12 /**< how many there are */
} ncclDataType_t;

/** Pins the size of ncclRedOp_t, as NCCL's header does. */
typedef enum { ncclNumOps_dummy = 5 } ncclRedOp_dummy_t;
/** How elements combine. Values from ncclNumOps on are operators made by
 * ncclRedOpCreatePreMulSum. */
typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,              /**< sum divided by the number of ranks; integers truncate */
  ncclNumOps = 5,           /**< how many built-in operators there are */
  ncclMaxRedOp = 0x7fffffff /**< the largest value that an operator may have */
} ncclRedOp_t;

/** Where the scalar of ncclRedOpCreatePreMulSum lies. */
typedef enum {
  ncclScalarDevice = 0,       /**< in device memory, read while the collective runs */
  ncclScalarHostImmediate = 1 /**< in host memory, read by the call itself */
} ncclScalarResidence_t;

/** A number that ncclCommMemStats gives (NCCL 2.29). */
typedef enum {
  ncclStatGpuMemSuspend = 0,   /**< bytes that ncclCommSuspend frees */
  ncclStatGpuMemSuspended = 1, /**< 1 if they are freed now */
  ncclStatGpuMemPersist = 2,   /**< bytes that stay */
  ncclStatGpuMemTotal = 3      /**< both */
} ncclCommMemStat_t;

#define NCCL_CONFIG_UNDEF_INT INT_MIN /**< an int of ncclConfig_t that the user leaves alone */
#define NCCL_CONFIG_UNDEF_PTR NULL    /**< a pointer of ncclConfig_t that the user leaves alone */
#define NCCL_SPLIT_NOCOLOR (-1)       /**< colour of a rank that gets no communicator */
#define NCCL_UNDEF_FLOAT (-1.0f)      /**< a float that the library has not set */
#define NCCL_API_MAGIC 0xcafebeef     /**< marks an initialised ncclConfig_t */

#define NCCL_WIN_DEFAULT 0x00            /**< flag of ncclCommWindowRegister: none */
#define NCCL_WIN_COLL_SYMMETRIC 0x01     /**< all ranks register at the same offset */
#define NCCL_WIN_STRICT_ORDERING 0x02    /**< puts arrive in order (NCCL 2.29) */
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096 /**< bytes; of buffers for windows (NCCL 2.28) */

#define NCCL_CTA_POLICY_DEFAULT 0x00    /**< ncclConfig_t::CTAPolicy: none */
#define NCCL_CTA_POLICY_EFFICIENCY 0x01 /**< prefer few cores over speed */
#define NCCL_CTA_POLICY_ZERO 0x02       /**< use none if possible (NCCL 2.28) */

#define NCCL_SHRINK_DEFAULT 0x00 /**< ncclCommShrink: the parent is idle */
#define NCCL_SHRINK_ABORT 0x01   /**< ncclCommShrink: end the parent's operations first */
#define NCCL_REVOKE_DEFAULT 0x00 /**< ncclCommRevoke: the only choice (NCCL 2.28) */
#define NCCL_SUSPEND_MEM 0x01    /**< ncclCommSuspend: free memory (NCCL 2.29) */

/** Settings of one communicator. Start from NCCL_CONFIG_INITIALIZER. The library copies it, strings
 * included. It also accepts the sizes of other versions, 24 to 96 bytes. */
typedef struct ncclConfig_v22700 {
  size_t size;          /**< of the user's struct; the initializer sets it */
  unsigned int magic;   /**< NCCL_API_MAGIC; the initializer sets it */
  unsigned int version; /**< of the user's header; the initializer sets it */
  int blocking;         /**< 1 (default): calls wait; 0: they may return ncclInProgress */
  int cgaClusterSize;   /**< CUDA only */
  int minCTAs;          /**< least cores (CTAs) to use, at least 1 */
  int maxCTAs;          /**< most cores (CTAs) to use */
  const char* netName;  /**< network to use, in any case */
  int splitShare;       /**< 1: children made by ncclCommSplit share resources */
  int trafficClass;     /**< of network packets */
  const char* commName; /**< a name for messages */
  int collnetEnable;    /**< 1: in-network reduction may be used */
  int CTAPolicy;        /**< NCCL_CTA_POLICY_* */
  int shrinkShare;      /**< 1: children made by ncclCommShrink share resources */
  int nvlsCTAs;         /**< NVLink SHARP only */
} ncclConfig_t;

/** The start value of every ncclConfig_t. */
#define NCCL_CONFIG_INITIALIZER                     \
  {                                                 \
    sizeof(ncclConfig_t),      /* size */           \
        NCCL_API_MAGIC,        /* magic */          \
        NCCL_VERSION_CODE,     /* version */        \
        NCCL_CONFIG_UNDEF_INT, /* blocking */       \
        NCCL_CONFIG_UNDEF_INT, /* cgaClusterSize */ \
        NCCL_CONFIG_UNDEF_INT, /* minCTAs */        \
        NCCL_CONFIG_UNDEF_INT, /* maxCTAs */        \
        NCCL_CONFIG_UNDEF_PTR, /* netName */        \
        NCCL_CONFIG_UNDEF_INT, /* splitShare */     \
        NCCL_CONFIG_UNDEF_INT, /* trafficClass */   \
        NCCL_CONFIG_UNDEF_PTR, /* commName */       \
        NCCL_CONFIG_UNDEF_INT, /* collnetEnable */  \
        NCCL_CONFIG_UNDEF_INT, /* CTAPolicy */      \
        NCCL_CONFIG_UNDEF_INT, /* shrinkShare */    \
        NCCL_CONFIG_UNDEF_INT, /* nvlsCTAs */       \
  }

/** What ncclGroupSimulateEnd tells. Start from NCCL_SIM_INFO_INITIALIZER. */
typedef struct ncclSimInfo_v22200 {
  size_t size;          /**< of the user's struct; the initializer sets it */
  unsigned int magic;   /**< 0x74685283; the initializer sets it */
  unsigned int version; /**< of the user's header; the initializer sets it */
  float estimatedTime;  /**< of the group, in microseconds */
} ncclSimInfo_t;

/** The start value of every ncclSimInfo_t. */
#define NCCL_SIM_INFO_INITIALIZER              \
  {                                            \
    sizeof(ncclSimInfo_t), /* size */          \
        0x74685283,        /* magic */         \
        NCCL_VERSION_CODE, /* version */       \
        NCCL_UNDEF_FLOAT   /* estimatedTime */ \
  }

/** What ncclWaitSignal waits for (NCCL 2.29). */
typedef struct ncclWaitSignalDesc_v22900 {
  int opCnt;  /**< number of signals, at least 1 */
  int peer;   /**< rank that sends them */
  int sigIdx; /**< 0 */
  int ctx;    /**< 0 */
} ncclWaitSignalDesc_t;

/** A setting of the library, bound by ncclParamBind (NCCL 2.30). */
typedef struct ncclParamHandle* ncclParamHandle_t;

/* ---- Version, errors, debug ------------------------------------------------------------- */

/** Stores NCCL_VERSION_CODE of the library in *version. Works before anything else, any thread. */
ncclResult_t ncclGetVersion(int* version);
/** ncclGetVersion under its profiling name. */
ncclResult_t pncclGetVersion(int* version);

/** A sentence for a result, also for unknown numbers. Never NULL. Any thread. */
const char* ncclGetErrorString(ncclResult_t result);
/** ncclGetErrorString under its profiling name. */
const char* pncclGetErrorString(ncclResult_t result);

/** The text of the last error in this process: what went wrong, where, and what to try; "" if there
 * was none. `comm` is ignored and may be NULL. Never NULL; valid until this thread's next call. */
const char* ncclGetLastError(ncclComm_t comm);
/** ncclGetLastError under its profiling name. */
const char* pncclGetLastError(ncclComm_t comm);

/** Reads NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE again. Any thread. */
void ncclResetDebugInit(void);
/** ncclResetDebugInit under its profiling name. */
void pncclResetDebugInit(void);

/* ---- Communicators ---------------------------------------------------------------------- */

/** Makes an id that one set of ranks can meet under. The calling process serves the meeting, so it
 * must live until the ranks are initialised. Any thread. */
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId);
/** ncclGetUniqueId under its profiling name. */
ncclResult_t pncclGetUniqueId(ncclUniqueId* uniqueId);

/** ncclCommInitRankConfig with the default settings. */
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);
/** ncclCommInitRank under its profiling name. */
ncclResult_t pncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);

/** Makes ndev communicators of one process, comm[i] on device devlist[i] (NULL: 0 to ndev - 1).
 * Several ranks may share a device. */
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);
/** ncclCommInitAll under its profiling name. */
ncclResult_t pncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);

/** Joins rank `rank` of `nranks` on the current device. All ranks must call it; returns when all
 * have, or names the missing ones after ACCL_INIT_TIMEOUT. Inside a group it happens at the end of
 * the group. On failure *comm is NULL. */
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config);
/** ncclCommInitRankConfig under its profiling name. */
ncclResult_t pncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                     ncclConfig_t* config);

/** ncclCommInitRankConfig with nId ids, each served by another process. */
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config);
/** ncclCommInitRankScalable under its profiling name. */
ncclResult_t pncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                       ncclUniqueId* commIds, ncclConfig_t* config);

/** Completes the operations of the communicator; afterwards only ncclCommDestroy or ncclCommAbort
 * may follow. NULL is accepted. */
ncclResult_t ncclCommFinalize(ncclComm_t comm);
/** ncclCommFinalize under its profiling name. */
ncclResult_t pncclCommFinalize(ncclComm_t comm);

/** Finalizes if that is not done, and frees. NULL is accepted. */
ncclResult_t ncclCommDestroy(ncclComm_t comm);
/** ncclCommDestroy under its profiling name. */
ncclResult_t pncclCommDestroy(ncclComm_t comm);

/** Ends all operations of the communicator, in error, and frees it. Never waits for a peer. May be
 * called from any thread while another one is inside a call on it. NULL is accepted. */
ncclResult_t ncclCommAbort(ncclComm_t comm);
/** ncclCommAbort under its profiling name. */
ncclResult_t pncclCommAbort(ncclComm_t comm);

/** Ends all operations of the communicator but keeps it for ncclCommShrink or ncclCommSplit. */
ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags);
/** ncclCommRevoke under its profiling name. */
ncclResult_t pncclCommRevoke(ncclComm_t comm, int revokeFlags);

/** Makes one communicator per color out of `comm`; ranks are ordered by key, then old rank. All
 * ranks call it; NCCL_SPLIT_NOCOLOR gets NULL. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                           ncclConfig_t* config);
/** ncclCommSplit under its profiling name. */
ncclResult_t pncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                            ncclConfig_t* config);

/** Makes a communicator without the listed ranks; the others call it. Sorts the list in place. */
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);
/** ncclCommShrink under its profiling name. */
ncclResult_t pncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                             ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);

/** Makes an id that new ranks can join `comm` with, by ncclCommGrow. */
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
/** ncclCommGetUniqueId under its profiling name. */
ncclResult_t pncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);

/** Makes a communicator of nRanks out of `comm` and ranks that join. */
ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                          ncclComm_t* newcomm, ncclConfig_t* config);
/** ncclCommGrow under its profiling name. */
ncclResult_t pncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                           ncclComm_t* newcomm, ncclConfig_t* config);

/** Number of ranks. */
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
/** ncclCommCount under its profiling name. */
ncclResult_t pncclCommCount(const ncclComm_t comm, int* count);

/** Number of the device that the rank was made on. */
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);
/** ncclCommCuDevice under its profiling name. */
ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device);

/** This rank. */
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);
/** ncclCommUserRank under its profiling name. */
ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank);

/** State of the communicator: ncclSuccess, ncclInProgress, or the error that ended it. Any thread,
 * at any time. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);
/** ncclCommGetAsyncError under its profiling name. */
ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);

/** Frees memory of an idle communicator until ncclCommResume. */
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
/** ncclCommSuspend under its profiling name. */
ncclResult_t pncclCommSuspend(ncclComm_t comm, int flags);

/** Undoes ncclCommSuspend. */
ncclResult_t ncclCommResume(ncclComm_t comm);
/** ncclCommResume under its profiling name. */
ncclResult_t pncclCommResume(ncclComm_t comm);

/** Memory that the communicator uses, in bytes. */
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);
/** ncclCommMemStats under its profiling name. */
ncclResult_t pncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value);

/* ---- Collectives ------------------------------------------------------------------------
 * All ranks call the same function with the same count, type, operator and root; ranks that differ
 * get ncclInvalidUsage with one text. The work is enqueued on `stream`; with stream NULL the call,
 * or the ncclGroupEnd that closes it, returns when the work is done. Counts are in elements.
 * Buffers must not overlap except where "in place" says how. */

/** recvbuff of `root` = reduction over all sendbuffs. In place: sendbuff == recvbuff. */
ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
/** ncclReduce under its profiling name. */
ncclResult_t pncclReduce(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                         cudaStream_t stream);

/** ncclBroadcast in place. Old; prefer ncclBroadcast. */
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream);
/** ncclBcast under its profiling name. */
ncclResult_t pncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root,
                        ncclComm_t comm, cudaStream_t stream);

/** recvbuff of all = sendbuff of `root`. In place: sendbuff == recvbuff. */
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
/** ncclBroadcast under its profiling name. */
ncclResult_t pncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                            ncclDataType_t datatype, int root, ncclComm_t comm,
                            cudaStream_t stream);

/** recvbuff of all = reduction over all sendbuffs; the same bits everywhere. In place:
 * sendbuff == recvbuff. */
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream);
/** ncclAllReduce under its profiling name. */
ncclResult_t pncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                            ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                            cudaStream_t stream);

/** recvbuff of rank r = block r, of recvcount elements, of the reduction. In place:
 * recvbuff == sendbuff + r * recvcount. */
ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream);
/** ncclReduceScatter under its profiling name. */
ncclResult_t pncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                cudaStream_t stream);

/** Block r, of sendcount elements, of every recvbuff = sendbuff of rank r. In place:
 * sendbuff == recvbuff + r * sendcount. */
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
/** ncclAllGather under its profiling name. */
ncclResult_t pncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                            ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);

/** Block s, of count elements, of recvbuff of rank r = block r of sendbuff of rank s. Not in place.
 */
ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
/** ncclAlltoAll under its profiling name. */
ncclResult_t pncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);

/** Block r, of count elements, of recvbuff of `root` = sendbuff of rank r. */
ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream);
/** ncclGather under its profiling name. */
ncclResult_t pncclGather(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);

/** recvbuff of rank r = block r, of count elements, of sendbuff of `root`. */
ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
/** ncclScatter under its profiling name. */
ncclResult_t pncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);

/** Sends to `peer`, whose ncclRecv must have the same count. Sends and receives of a group go on at
 * the same time. */
ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream);
/** ncclSend under its profiling name. */
ncclResult_t pncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                       ncclComm_t comm, cudaStream_t stream);

/** Receives from `peer`; see ncclSend. */
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream);
/** ncclRecv under its profiling name. */
ncclResult_t pncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                       ncclComm_t comm, cudaStream_t stream);

/* ---- One-sided -------------------------------------------------------------------------- */

/** Writes into a window of `peer` and signals it. */
ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream);
/** ncclPutSignal under its profiling name. */
ncclResult_t pncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                            ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                            unsigned int flags, ncclComm_t comm, cudaStream_t stream);

/** Signals `peer`. */
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream);
/** ncclSignal under its profiling name. */
ncclResult_t pncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                         cudaStream_t stream);

/** Waits for signals. */
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                            cudaStream_t stream);
/** ncclWaitSignal under its profiling name. */
ncclResult_t pncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                             cudaStream_t stream);

/* ---- Operators -------------------------------------------------------------------------- */

/** Makes an operator: the sum of elements that each rank multiplies by its own *scalar (of
 * `datatype`) first. It belongs to `comm` and to `datatype`. */
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
/** ncclRedOpCreatePreMulSum under its profiling name. */
ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                       ncclScalarResidence_t residence, ncclComm_t comm);

/** Frees such an operator; allowed as soon as the calls that use it have returned. */
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);
/** ncclRedOpDestroy under its profiling name. */
ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

/* ---- Groups ----------------------------------------------------------------------------- */

/** Opens a group of this thread; groups nest. Calls inside are collected. */
ncclResult_t ncclGroupStart(void);
/** ncclGroupStart under its profiling name. */
ncclResult_t pncclGroupStart(void);

/** Closes a group; the outermost one starts all calls of it together, and returns the first error
 * of any of them. */
ncclResult_t ncclGroupEnd(void);
/** ncclGroupEnd under its profiling name. */
ncclResult_t pncclGroupEnd(void);

/** Closes a group without running it, and estimates its time. */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo);
/** ncclGroupSimulateEnd under its profiling name. */
ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t* simInfo);

/* ---- Memory ----------------------------------------------------------------------------- */

/** Allocates memory of the current device that peers can reach directly. */
ncclResult_t ncclMemAlloc(void** ptr, size_t size);
/** ncclMemAlloc under its profiling name. */
ncclResult_t pncclMemAlloc(void** ptr, size_t size);

/** Frees memory of ncclMemAlloc. NULL is accepted. */
ncclResult_t ncclMemFree(void* ptr);
/** ncclMemFree under its profiling name. */
ncclResult_t pncclMemFree(void* ptr);

/** Announces a buffer that collectives will use often. Local; any thread. */
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);
/** ncclCommRegister under its profiling name. */
ncclResult_t pncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);

/** Takes back ncclCommRegister. */
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle);
/** ncclCommDeregister under its profiling name. */
ncclResult_t pncclCommDeregister(const ncclComm_t comm, void* handle);

/** Makes a buffer a window of all ranks; all call it, with equal sizes and flags. */
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags);
/** ncclCommWindowRegister under its profiling name. */
ncclResult_t pncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                     int winFlags);

/** Takes back ncclCommWindowRegister. */
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);
/** ncclCommWindowDeregister under its profiling name. */
ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);

/** The buffer of a window. */
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);
/** ncclWinGetUserPtr under its profiling name. */
ncclResult_t pncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);

/* ---- Settings --------------------------------------------------------------------------- */

/** Finds the setting `key`, for the functions below. */
ncclResult_t ncclParamBind(ncclParamHandle_t* out, const char* key);
/** ncclParamBind under its profiling name. */
ncclResult_t pncclParamBind(ncclParamHandle_t* out, const char* key);

/** Value as int8_t. */
ncclResult_t ncclParamGetI8(ncclParamHandle_t h, int8_t* out);
/** ncclParamGetI8 under its profiling name. */
ncclResult_t pncclParamGetI8(ncclParamHandle_t h, int8_t* out);

/** Value as int16_t. */
ncclResult_t ncclParamGetI16(ncclParamHandle_t h, int16_t* out);
/** ncclParamGetI16 under its profiling name. */
ncclResult_t pncclParamGetI16(ncclParamHandle_t h, int16_t* out);

/** Value as int32_t. */
ncclResult_t ncclParamGetI32(ncclParamHandle_t h, int32_t* out);
/** ncclParamGetI32 under its profiling name. */
ncclResult_t pncclParamGetI32(ncclParamHandle_t h, int32_t* out);

/** Value as int64_t. */
ncclResult_t ncclParamGetI64(ncclParamHandle_t h, int64_t* out);
/** ncclParamGetI64 under its profiling name. */
ncclResult_t pncclParamGetI64(ncclParamHandle_t h, int64_t* out);

/** Value as uint8_t. */
ncclResult_t ncclParamGetU8(ncclParamHandle_t h, uint8_t* out);
/** ncclParamGetU8 under its profiling name. */
ncclResult_t pncclParamGetU8(ncclParamHandle_t h, uint8_t* out);

/** Value as uint16_t. */
ncclResult_t ncclParamGetU16(ncclParamHandle_t h, uint16_t* out);
/** ncclParamGetU16 under its profiling name. */
ncclResult_t pncclParamGetU16(ncclParamHandle_t h, uint16_t* out);

/** Value as uint32_t. */
ncclResult_t ncclParamGetU32(ncclParamHandle_t h, uint32_t* out);
/** ncclParamGetU32 under its profiling name. */
ncclResult_t pncclParamGetU32(ncclParamHandle_t h, uint32_t* out);

/** Value as uint64_t. */
ncclResult_t ncclParamGetU64(ncclParamHandle_t h, uint64_t* out);
/** ncclParamGetU64 under its profiling name. */
ncclResult_t pncclParamGetU64(ncclParamHandle_t h, uint64_t* out);

/** Value as text. */
ncclResult_t ncclParamGetStr(ncclParamHandle_t h, const char** out);
/** ncclParamGetStr under its profiling name. */
ncclResult_t pncclParamGetStr(ncclParamHandle_t h, const char** out);

/** Value as bytes: at most maxLen of them, *len says how many. */
ncclResult_t ncclParamGet(ncclParamHandle_t h, void* out, int maxLen, int* len);
/** ncclParamGet under its profiling name. */
ncclResult_t pncclParamGet(ncclParamHandle_t h, void* out, int maxLen, int* len);

/** Value of the setting `key` as text. */
ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* valueLen);
/** ncclParamGetParameter under its profiling name. */
ncclResult_t pncclParamGetParameter(const char* key, const char** value, int* valueLen);

/** Names of all settings. */
ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* tableLen);
/** ncclParamGetAllParameterKeys under its profiling name. */
ncclResult_t pncclParamGetAllParameterKeys(const char*** table, int* tableLen);

/** Prints all settings. */
void ncclParamDumpAll(void);
/** ncclParamDumpAll under its profiling name. */
void pncclParamDumpAll(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NCCL_H_ */
