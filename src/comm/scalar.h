// The scalar of a pre-multiplied sum (ncclRedOpCreatePreMulSum): sum over ranks of scalar * x.
// A value.
#pragma once

#include <array>
#include <cstddef>

#include "src/base/type.h"

namespace accl {

struct Scalar {
  DataType type = DataType::kFloat32;
  bool immediate = true;             ///< the value was read when the operator was made
  std::array<std::byte, 8> value{};  ///< immediate: the value, in `type`
  const void* address = nullptr;     ///< else: where to read it when an operation starts

  /// The value as the kernels want it.
  double as_double() const;
  int64_t as_int() const;
};

}  // namespace accl
