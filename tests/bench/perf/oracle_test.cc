#include "bench/perf/oracle.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device/reduce.h"

namespace accl::perf {
namespace {

constexpr size_t kCount = 257;

std::vector<std::byte> input(const Problem& problem, int rank) {
  std::vector<std::byte> data(kCount * size_of(problem.type));
  fill_input(problem, rank, 0, kCount, data.data());
  return data;
}

std::vector<int> rank_counts() { return {1, 2, 3, 8, 33}; }

/// Reduces by the library's scalar kernels, in the order first + step, first + 2 * step, ...
std::vector<std::byte> reduce(const Problem& problem, ReduceOp op, int step) {
  const Kernel kernel = reduce_kernel(problem.type, op, Isa::kScalar);
  std::vector<std::byte> sum = input(problem, 0);
  for (int i = 1; i < problem.ranks; ++i) {
    const int rank = step > 0 ? i : problem.ranks - i;
    const std::vector<std::byte> next = input(problem, rank);
    Pass pass;
    pass.out = sum.data();
    pass.left = sum.data();
    pass.right = next.data();
    pass.count = kCount;
    if (problem.op == Operator::kMulSum) {
      pass.scale_right = true;
      pass.scale = mul_sum_scalar(rank);
      pass.scale_int = mul_sum_scalar(rank);
    }
    kernel(pass);
  }
  return sum;
}

ReduceOp kernel_operator(Operator op) {
  switch (op) {
    case Operator::kProd:
      return ReduceOp::kProd;
    case Operator::kMax:
      return ReduceOp::kMax;
    case Operator::kMin:
      return ReduceOp::kMin;
    default:
      return ReduceOp::kSum;
  }
}

TEST(Oracle, EveryOrderOfTheReductionIsRight) {
  for (int type = 0; type < kDataTypes; ++type) {
    for (const Operator op :
         {Operator::kSum, Operator::kProd, Operator::kMax, Operator::kMin, Operator::kMulSum}) {
      for (const int ranks : rank_counts()) {
        const Problem problem{static_cast<DataType>(type), op, ranks, 7};
        for (const int step : {1, -1}) {
          const auto result = reduce(problem, kernel_operator(op), step);
          EXPECT_EQ(count_wrong_reduced(problem, 0, kCount, result.data()), 0U)
              << accl::name_of(problem.type) << " " << name_of(op) << " of " << ranks;
        }
      }
    }
  }
}

TEST(Oracle, EverySingleWrongElementIsSeen) {
  for (int type = 0; type < kDataTypes; ++type) {
    const Problem problem{static_cast<DataType>(type), Operator::kSum, 3, 11};
    auto result = reduce(problem, ReduceOp::kSum, 1);
    result.back() ^= std::byte{0x40};
    EXPECT_EQ(count_wrong_reduced(problem, 0, kCount, result.data()), 1U)
        << accl::name_of(problem.type);
  }
}

TEST(Oracle, AnUnwrittenBufferIsWrong) {
  const Problem problem{DataType::kFloat32, Operator::kSum, 2, 1};
  std::vector<float> result(kCount);
  poison(result.data(), result.size() * sizeof(float));
  EXPECT_EQ(count_wrong_reduced(problem, 0, kCount, result.data()), kCount);
}

TEST(Oracle, AnAverageMayBeTwoUnitsOff) {
  const Problem problem{DataType::kFloat32, Operator::kAvg, 3, 5};
  std::vector<float> sum(kCount);
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<float> mine(kCount);
    fill_input(problem, rank, 0, kCount, mine.data());
    for (size_t i = 0; i < kCount; ++i) sum[i] += mine[i] * (1.0F / 3);
  }
  EXPECT_EQ(count_wrong_reduced(problem, 0, kCount, sum.data()), 0U);
  uint32_t bits = 0;
  std::memcpy(&bits, &sum[3], sizeof bits);
  bits += 6;
  std::memcpy(&sum[3], &bits, sizeof bits);
  EXPECT_EQ(count_wrong_reduced(problem, 0, kCount, sum.data()), 1U);
}

TEST(Oracle, IntegerAveragesWrapAndTruncate) {
  const Problem problem{DataType::kInt8, Operator::kAvg, 3, 2};
  std::vector<int8_t> average(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    int sum = 0;
    for (int rank = 0; rank < 3; ++rank) {
      int8_t mine = 0;
      fill_input(problem, rank, i, 1, &mine);
      sum += mine;
    }
    average[i] = static_cast<int8_t>(static_cast<int8_t>(sum) / 3);
  }
  EXPECT_EQ(count_wrong_reduced(problem, 0, kCount, average.data()), 0U);
}

TEST(Oracle, CopiesAreComparedWithTheirSource) {
  const Problem problem{DataType::kInt32, Operator::kSum, 4, 3};
  const auto data = input(problem, 2);
  EXPECT_EQ(count_wrong_copied(problem, 2, 0, kCount, data.data()), 0U);
  EXPECT_EQ(count_wrong_copied(problem, 1, 0, kCount, data.data()), kCount);
}

}  // namespace
}  // namespace accl::perf
