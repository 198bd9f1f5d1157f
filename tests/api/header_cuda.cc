// nccl.h where a CUDA toolkit is installed: the stream is the toolkit's. The include path of this
// file has a small stand-in for it (tests/api/cuda).
#include <type_traits>

#include "accl/nccl.h"
#include "tests/api/header_layout.h"

#ifndef ACCL_HAS_CUDA
#error "nccl.h did not find cuda_runtime.h"
#endif
static_assert(std::is_same_v<cudaStream_t, StandInStream*>);
static_assert(sizeof(__half) == 2, "cuda_fp16.h comes along");
