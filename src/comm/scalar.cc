#include "src/comm/scalar.h"

#include <cstring>

#include "src/base/float.h"

namespace accl {
namespace {

template <class T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

double Scalar::as_double() const {
  const void* from = immediate ? value.data() : address;
  switch (type) {
    case DataType::kFloat64:
      return load<double>(from);
    case DataType::kFloat32:
      return static_cast<double>(load<float>(from));
    case DataType::kFloat16:
      return static_cast<double>(half_to_float(load<uint16_t>(from)));
    case DataType::kBfloat16:
      return static_cast<double>(bfloat16_to_float(load<uint16_t>(from)));
    case DataType::kFloat8e4m3:
      return static_cast<double>(float8e4m3_to_float(load<uint8_t>(from)));
    case DataType::kFloat8e5m2:
      return static_cast<double>(float8e5m2_to_float(load<uint8_t>(from)));
    default:
      return static_cast<double>(as_int());
  }
}

int64_t Scalar::as_int() const {
  const void* from = immediate ? value.data() : address;
  switch (type) {
    case DataType::kInt8:
      return load<int8_t>(from);
    case DataType::kUint8:
      return load<uint8_t>(from);
    case DataType::kInt32:
      return load<int32_t>(from);
    case DataType::kUint32:
      return load<uint32_t>(from);
    case DataType::kInt64:
    case DataType::kUint64:
      return load<int64_t>(from);
    default:
      return static_cast<int64_t>(as_double());
  }
}

}  // namespace accl
