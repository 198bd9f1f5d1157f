// Stand-in for the CUDA toolkit's header: what nccl.h needs of it. Types only.
#pragma once

struct StandInStream;
using cudaStream_t = StandInStream*;
