// Element types, operators and collectives as the whole library names them.
//
// The numbers are those of ncclDataType_t and ncclRedOp_t (nccl.h), asserted equal in src/api, so
// that the API boundary casts. Pure values; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace accl {

using Rank = int;

enum class DataType : uint8_t {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat8e4m3,
  kFloat8e5m2,
};
inline constexpr int kDataTypes = 12;

/// The operators with a kernel of their own. Average and pre-multiplied sum are a sum with a scale
/// before (`pre`) or a division after (`post`): see device/reduce.h.
enum class ReduceOp : uint8_t { kSum, kProd, kMax, kMin };
inline constexpr int kReduceOps = 4;

enum class Collective : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kPointToPoint,
};
inline constexpr int kCollectives = 7;

/// Bytes of one element.
constexpr size_t size_of(DataType type) {
  constexpr std::array<uint8_t, kDataTypes> sizes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return sizes[static_cast<size_t>(type)];
}
constexpr bool is_float(DataType type) { return type >= DataType::kFloat16; }

/// Names as nccl-tests prints them: "int8", "half", "float", "bfloat16", "f8e4m3", ...
constexpr std::string_view name_of(DataType type) {
  constexpr std::array<std::string_view, kDataTypes> names = {
      "int8", "uint8", "int32",  "uint32",   "int64",  "uint64",
      "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"};
  return names[static_cast<size_t>(type)];
}
constexpr std::string_view name_of(ReduceOp op) {
  constexpr std::array<std::string_view, kReduceOps> names = {"sum", "prod", "max", "min"};
  return names[static_cast<size_t>(op)];
}
/// Names as NCCL spells its calls: "AllReduce", "AllGather", ...
constexpr std::string_view name_of(Collective collective) {
  constexpr std::array<std::string_view, kCollectives> names = {
      "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "AlltoAll", "SendRecv"};
  return names[static_cast<size_t>(collective)];
}

}  // namespace accl
