// Operators that users make: pre-multiplied sums.

#include <fmt/format.h>

#include <cstring>

#include "src/api/boundary.h"
#include "src/api/export.h"
#include "src/api/handles.h"

namespace accl {
namespace {

Status create(ncclRedOp_t* op, void* scalar, ncclDataType_t type, ncclScalarResidence_t residence,
              ncclComm_t comm) {
  const Use use(comm);
  if (!use) return use.why_not();
  if (op == nullptr) return invalid_argument("op is NULL");
  if (scalar == nullptr) return invalid_argument("scalar is NULL");
  if (static_cast<unsigned>(type) >= static_cast<unsigned>(kDataTypes)) {
    return invalid_argument(
        fmt::format("datatype {} is not in 0..{}", static_cast<int>(type), kDataTypes - 1));
  }
  if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate) {
    return invalid_argument(
        fmt::format("residence {} is neither ncclScalarDevice nor "
                    "ncclScalarHostImmediate",
                    static_cast<int>(residence)));
  }
  Scalar made{.type = static_cast<DataType>(type),
              .immediate = residence == ncclScalarHostImmediate,
              .address = scalar};
  if (made.immediate) std::memcpy(made.value.data(), scalar, size_of(made.type));
  *op = static_cast<ncclRedOp_t>(ACCL_TRY(use->add_scalar(made)));
  return {};
}

}  // namespace
}  // namespace accl

ACCL_API(ncclResult_t, ncclRedOpCreatePreMulSum,
         (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence,
          ncclComm_t comm)) {
  return accl::boundary("ncclRedOpCreatePreMulSum",
                        [&] { return accl::create(op, scalar, datatype, residence, comm); });
}

ACCL_API(ncclResult_t, ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm)) {
  return accl::boundary("ncclRedOpDestroy", [&]() -> accl::Status {
    const accl::Use use(comm);
    if (!use) return use.why_not();
    return use->remove_scalar(static_cast<int>(op));
  });
}
