/* The host device: the C API of the CPU backend (libaccl_host.so.1), for C99 and C++.
 *
 * For whom: programs that want devices, memory, streams, events and host functions with CUDA's
 * semantics on a machine without accelerators; libnccl.so.2 accepts these streams. Ownership: what
 * a Create or Malloc call hands out belongs to the caller until the matching Destroy or Free.
 * Threads: every function may be called from any thread at any time, unless it says otherwise.
 *
 * How it differs from CUDA:
 * - The stream NULL is synchronous: the call returns when its work is done. It does not wait for
 *   other streams. CUDA's special handles 0x1 and 0x2 have no meaning here
 * (acclErrorInvalidHandle).
 * - A thread that waits, works: synchronising runs the pending work of the stream (copies, host
 *   functions, polls) in the calling thread, when no other thread is at it.
 * - A failed acclStreamPoll fails its stream alone: later work of the stream does not run, and
 *   calls on it return acclErrorLaunchFailure until acclStreamDestroy or acclStreamReset.
 * - Handles are looked up, never dereferenced: destroyed or invented ones are refused.
 * - After fork() the child's copies of streams and events are invalid handles; it may create new
 * ones.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** What a call came to. The numbers are those of the cudaError_t of the same meaning. */
typedef enum acclError {
  acclSuccess = 0,
  acclErrorInvalidValue = 1,     /**< an argument or setting is wrong */
  acclErrorMemoryAllocation = 2, /**< the system refused memory */
  acclErrorInvalidDevice = 101,  /**< no such device */
  acclErrorSystem = 304,         /**< a system call failed */
  acclErrorInvalidHandle = 400,  /**< not a live stream or event (or one from before a fork) */
  acclErrorNotReady = 600,       /**< work is pending; not a failure */
  acclErrorLaunchFailure = 719,  /**< the stream (or the event's stream) has failed */
  acclErrorNotPermitted = 800    /**< a call that may wait, made inside a stream operation */
} acclError_t;

/** A stream: work in order. The same pointer type as CUDA's cudaStream_t. */
typedef struct CUstream_st* acclStream_t;
/** A moment in a stream. The same pointer type as CUDA's cudaEvent_t. */
typedef struct CUevent_st* acclEvent_t;

/** Name of an error, as "acclErrorNotReady"; "unknown error" for other numbers. Never NULL. */
const char* acclGetErrorName(acclError_t error);
/** What an error means, in a sentence. Never NULL. */
const char* acclGetErrorString(acclError_t error);
/** The text of this thread's last failed call, with values ("" if none failed). Valid until the
 * thread's next failed call. acclErrorNotReady leaves it alone. */
const char* acclGetLastErrorText(void);

/* ---- Devices ---------------------------------------------------------------------------- */

/** Number of host devices: ACCL_HOST_DEVICES (1 to 1024, read once), 8 if it is unset or empty.
 * acclErrorInvalidValue when the setting is not such a number. */
acclError_t acclGetDeviceCount(int* count);
/** Chooses the device of this thread's later calls (0 at first). acclErrorInvalidDevice. */
acclError_t acclSetDevice(int device);
/** This thread's device. */
acclError_t acclGetDevice(int* device);
/** Waits for all the streams of this thread's device. acclErrorLaunchFailure if one has failed. */
acclError_t acclDeviceSynchronize(void);

/* ---- Memory ----------------------------------------------------------------------------- */

/** What acclPointerGetAttributes knows about an address. */
typedef enum acclMemoryType {
  acclMemoryUnknown = 0, /**< not allocated here (stack, malloc, ...); as usable as any other */
  acclMemoryPrivate = 1, /**< acclMalloc */
  acclMemoryShared = 2,  /**< acclMallocShared */
  acclMemoryImported = 3 /**< acclMemImport */
} acclMemoryType_t;

typedef struct acclPointerAttributes {
  acclMemoryType_t type;
  int device;   /**< device of the allocating thread; -1 when unknown */
  void* base;   /**< what the allocation returned; NULL when unknown */
  size_t bytes; /**< what the allocation asked for; 0 when unknown */
} acclPointerAttributes_t;

/** Memory of this process, at least 256-byte aligned, contents undefined. From 2 MiB on it is
 * aligned to 2 MiB and asks for huge pages. 0 bytes: NULL. acclErrorMemoryAllocation. */
acclError_t acclMalloc(void** pointer, size_t bytes);
/** Memory that other processes can map: a sealed memfd without a name, zeroed and fully backed
 * before the call returns, so that refusal is acclErrorMemoryAllocation and never SIGBUS. */
acclError_t acclMallocShared(void** pointer, size_t bytes);
/** Frees what acclMalloc, acclMallocShared or acclMemImport returned. NULL is nothing to do; any
 * other address is acclErrorInvalidValue. Does not wait for streams that still use the memory. */
acclError_t acclFree(void* pointer);
/** How another process can map the shared memory around `pointer`: a descriptor (the caller's, to
 * be closed; close-on-exec), the offset of `pointer` in it and the bytes from there to the end.
 * acclErrorInvalidValue unless `pointer` lies in memory of acclMallocShared. */
acclError_t acclMemExport(const void* pointer, int* descriptor, size_t* offset, size_t* bytes);
/** Maps exported memory. The descriptor stays the caller's. acclErrorInvalidValue when the range is
 * not within the descriptor, or when the descriptor is not sealed against shrinking. */
acclError_t acclMemImport(void** pointer, int descriptor, size_t offset, size_t bytes);
/** What is known about an address, inside an allocation too. Unknown addresses are no error. */
acclError_t acclPointerGetAttributes(acclPointerAttributes_t* attributes, const void* pointer);

/** Copies now; the ranges may overlap. */
acclError_t acclMemcpy(void* to, const void* from, size_t bytes);
acclError_t acclMemset(void* to, int value, size_t bytes);
/** The same in stream order. The memory must stay allocated until the stream is past it. */
acclError_t acclMemcpyAsync(void* to, const void* from, size_t bytes, acclStream_t stream);
acclError_t acclMemsetAsync(void* to, int value, size_t bytes, acclStream_t stream);

/* ---- Streams ---------------------------------------------------------------------------- */

/** A new stream of this thread's device. acclErrorMemoryAllocation when 65536 are in use. */
acclError_t acclStreamCreate(acclStream_t* stream);
/** The handle is invalid from here on. Returns at once; pending work is still done, in the
 * background. NULL is acclErrorInvalidHandle. */
acclError_t acclStreamDestroy(acclStream_t stream);
/** Runs or awaits all the work submitted before the call. acclErrorLaunchFailure if the stream has
 * failed, acclErrorNotPermitted inside a stream operation. */
acclError_t acclStreamSynchronize(acclStream_t stream);
/** acclSuccess when nothing is pending, acclErrorNotReady, or acclErrorLaunchFailure. Polls and
 * events at the front of the stream are driven by it; copies and host functions are not. */
acclError_t acclStreamQuery(acclStream_t stream);
/** 1 when the stream is live, has not failed, and nothing is queued or running on it (then all the
 * effects of its work are visible to the caller); NULL: 1. Otherwise 0. Takes a few nanoseconds, no
 * lock; leaves the last error text alone. */
int acclStreamIsIdle(acclStream_t stream);
/** The device of a stream; of this thread when NULL. A few nanoseconds, no lock. */
acclError_t acclStreamDevice(acclStream_t stream, int* device);
/** Clears a failure: work that the failure stopped stays undone (its events have failed), new work
 * is accepted. Nothing to do on a stream that has not failed. */
acclError_t acclStreamReset(acclStream_t stream);

/** A function run once, in stream order. It must not make calls that wait (acclErrorNotPermitted);
 * it may submit work. */
typedef void (*acclHostFn_t)(void* argument);
acclError_t acclLaunchHostFunc(acclStream_t stream, acclHostFn_t function, void* argument);

typedef enum acclPoll {
  acclPollPending = 0, /**< ask again */
  acclPollDone = 1,    /**< the operation is over; `function` is not called again */
  acclPollFailed = 2   /**< the stream fails; `function` is not called again */
} acclPoll_t;
/** Makes some progress and says how it stands; never blocks. Called from any thread that waits, and
 * now and then from the device's worker thread; never from two threads at once. */
typedef acclPoll_t (*acclPollFn_t)(void* argument);
/** An operation that is over when `function` says so. On NULL the call itself polls until then.
 * Does not allocate after warm-up. If the stream fails earlier, `function` is never called. */
acclError_t acclStreamPoll(acclStream_t stream, acclPollFn_t function, void* argument);

/* ---- Events ----------------------------------------------------------------------------- */

acclError_t acclEventCreate(acclEvent_t* event);
/** Takes effect at once; a pending record and the waits on it are not disturbed. */
acclError_t acclEventDestroy(acclEvent_t event);
/** Marks the end of the work submitted to `stream` so far; on an idle stream that is now. */
acclError_t acclEventRecord(acclEvent_t event, acclStream_t stream);
/** acclSuccess when the last record is reached or there was none; acclErrorNotReady;
 * acclErrorLaunchFailure when its stream failed first. */
acclError_t acclEventQuery(acclEvent_t event);
/** Runs or awaits the work up to the last record. Errors as acclEventQuery and
 * acclStreamSynchronize. */
acclError_t acclEventSynchronize(acclEvent_t event);
/** Time between two reached records, in milliseconds. acclErrorInvalidHandle when one was never
 * recorded, acclErrorNotReady, acclErrorLaunchFailure. */
acclError_t acclEventElapsedTime(float* elapsed_ms, acclEvent_t start, acclEvent_t end);
/** Later work of `stream` waits for the last record of `event` made before this call. If that
 * record's stream fails first, `stream` fails too. On NULL the call itself waits. */
acclError_t acclStreamWaitEvent(acclStream_t stream, acclEvent_t event);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
