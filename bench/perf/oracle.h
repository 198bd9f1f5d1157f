// What goes into the buffers of a test, and what has to come out.
//
// The inputs are chosen so that the result is exact in the element type whatever the order of the
// reduction: a library may reduce as it likes, and every wrong bit counts. The only tolerance is 2
// units in the last place for the average of floats. Written apart from the library's kernels.
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/type.h"

namespace accl::perf {

/// The operators of nccl-tests. kMulSum: a pre-multiplied sum with mul_sum_scalar(rank).
enum class Operator : uint8_t { kSum, kProd, kMax, kMin, kAvg, kMulSum };
inline constexpr int kOperators = 6;

std::string_view name_of(Operator op);
std::optional<Operator> operator_named(std::string_view name);
/// By nccl-tests' names ("half", "f8e4m3").
std::optional<DataType> type_named(std::string_view name);

/// 1 on even ranks, 2 on odd ones: small, so that sums stay exact.
constexpr int mul_sum_scalar(int rank) { return rank % 2 == 0 ? 1 : 2; }
/// That scalar as ncclRedOpCreatePreMulSum reads it: in the element type, at most 8 bytes.
uint64_t mul_sum_scalar_bits(DataType type, int rank);

/// One validation: the same values everywhere give the same data in every process.
struct Problem {
  DataType type = DataType::kFloat32;
  Operator op = Operator::kSum;
  int ranks = 1;
  uint64_t seed = 0;
};

/// Writes elements first .. first + count - 1 of `rank`'s input.
void fill_input(const Problem& problem, int rank, size_t first, size_t count, void* out);
/// Fills with a pattern that is no result, so that what is never written is seen.
void poison(void* out, size_t bytes);

/// How many of `count` elements are not the reduction of all ranks' inputs first, first + 1, ...
uint64_t count_wrong_reduced(const Problem& problem, size_t first, size_t count,
                             const void* actual);
/// How many are not `rank`'s inputs first, first + 1, ...
uint64_t count_wrong_copied(const Problem& problem, int rank, size_t first, size_t count,
                            const void* actual);

}  // namespace accl::perf
