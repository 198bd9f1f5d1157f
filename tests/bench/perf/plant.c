/* Preloaded by the test of the perf tool: spoils the result of ncclAllReduce on rank 1, as
 * ACCL_PLANT says. `flip`: one bit of the first element; `drop`: the last element is not written.
 */
#include <stdlib.h>
#include <string.h>

#include "accl/nccl.h"

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  int rank = 0;
  int* out = recvbuff;
  int last;
  const char* plant = getenv("ACCL_PLANT");
  ncclResult_t result;
  if (ncclCommUserRank(comm, &rank) != ncclSuccess || rank != 1 || plant == NULL || count == 0)
    return pncclAllReduce(sendbuff, recvbuff, count, datatype, op, comm, stream);
  last = out[count - 1];
  result = pncclAllReduce(sendbuff, recvbuff, count, datatype, op, comm, stream);
  if (strcmp(plant, "flip") == 0) out[0] ^= 1;
  if (strcmp(plant, "drop") == 0) out[count - 1] = last;
  return result;
}
