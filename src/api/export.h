// How a function of nccl.h is defined: once, with both of its names.
//
// pncclX is the strong symbol; ncclX is a weak alias of the same code, so that a preloaded tracer
// may define ncclX and call pncclX (docs/compat.md). Both are exported although the library is
// compiled with hidden visibility; symbols.map hides the rest.
#pragma once

#include "accl/nccl.h"

/// ACCL_API(ncclResult_t, ncclGetVersion, (int* version)) { ...body... }
/// Put it outside of namespaces. Inside the library call the functions behind it, not ncclX itself,
/// which a tracer may have replaced.
#define ACCL_API(type, name, parameters)                                                          \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name))) type name parameters; \
  extern "C" __attribute__((visibility("default"))) type p##name parameters;                      \
  type p##name parameters
