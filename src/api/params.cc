// The settings functions of NCCL 2.30. Refused until the settings table answers them; see
// refused.cc.
#include "src/api/export.h"
#include "src/api/last_error.h"

using accl::refuse;

ACCL_API(ncclResult_t, ncclParamBind, (ncclParamHandle_t*, const char*)) {
  return refuse("ncclParamBind");
}

ACCL_API(ncclResult_t, ncclParamGetI8, (ncclParamHandle_t, int8_t*)) {
  return refuse("ncclParamGetI8");
}

ACCL_API(ncclResult_t, ncclParamGetI16, (ncclParamHandle_t, int16_t*)) {
  return refuse("ncclParamGetI16");
}

ACCL_API(ncclResult_t, ncclParamGetI32, (ncclParamHandle_t, int32_t*)) {
  return refuse("ncclParamGetI32");
}

ACCL_API(ncclResult_t, ncclParamGetI64, (ncclParamHandle_t, int64_t*)) {
  return refuse("ncclParamGetI64");
}

ACCL_API(ncclResult_t, ncclParamGetU8, (ncclParamHandle_t, uint8_t*)) {
  return refuse("ncclParamGetU8");
}

ACCL_API(ncclResult_t, ncclParamGetU16, (ncclParamHandle_t, uint16_t*)) {
  return refuse("ncclParamGetU16");
}

ACCL_API(ncclResult_t, ncclParamGetU32, (ncclParamHandle_t, uint32_t*)) {
  return refuse("ncclParamGetU32");
}

ACCL_API(ncclResult_t, ncclParamGetU64, (ncclParamHandle_t, uint64_t*)) {
  return refuse("ncclParamGetU64");
}

ACCL_API(ncclResult_t, ncclParamGetStr, (ncclParamHandle_t, const char**)) {
  return refuse("ncclParamGetStr");
}

ACCL_API(ncclResult_t, ncclParamGet, (ncclParamHandle_t, void*, int, int*)) {
  return refuse("ncclParamGet");
}

ACCL_API(ncclResult_t, ncclParamGetParameter, (const char*, const char**, int*)) {
  return refuse("ncclParamGetParameter");
}

ACCL_API(ncclResult_t, ncclParamGetAllParameterKeys, (const char***, int*)) {
  return refuse("ncclParamGetAllParameterKeys");
}

ACCL_API(void, ncclParamDumpAll, ()) { refuse("ncclParamDumpAll"); }
