/* nccl.h and device.h from C99 without extensions and without any CUDA header; header_test calls
 * the functions. */
#define ACCL_NO_CUDA

#include "accl/device.h"
#include "accl/nccl.h"
#include "accl/version.h"
#include "tests/api/header_layout.h"

ncclConfig_t header_c99_config(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  return config;
}

ncclSimInfo_t header_c99_sim_info(void) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  return info;
}

/* The streams of the two headers are one type: no conversion, no warning. */
cudaStream_t header_c99_stream(acclStream_t stream) { return stream; }
