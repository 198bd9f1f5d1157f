// Every kernel of every instruction set of this machine against one scalar oracle, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "device/reduce.h"
#include "src/base/float.h"
#include "tests/device/kernel_oracle.h"

namespace accl {
namespace {

// --- values ---

TEST(Kernels, AllPairsOfEightBitElements) {
  const Operands pairs = all_byte_pairs();
  for (const DataType type : types()) {
    if (size_of(type) != 1) continue;
    for (const ReduceOp op : kOps) check(type, op, pass_over(pairs));
  }
}

TEST(Kernels, SpecialAndRandomPairs) {
  for (const DataType type : types()) {
    const Operands operands = interesting_operands(type, 20000);
    for (const ReduceOp op : kOps) check(type, op, pass_over(operands));
  }
}

TEST(Kernels, EverySixteenBitCodeIsWidenedAndRounded) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    for (const uint64_t other : {uint64_t{0x8000}, uint64_t{1}, uint64_t{0x3c01}}) {
      Operands operands;
      for (uint64_t code = 0; code < 65536; ++code) {
        put(operands.left, type, code);
        put(operands.right, type, other);
      }
      operands.count = 65536;
      for (const ReduceOp op : kOps) check(type, op, pass_over(operands));
    }
  }
}

TEST(Kernels, ScalesAndDivisions) {
  for (const DataType type : types()) {
    const Operands operands = interesting_operands(type, 2000);
    for (const ReduceOp op : kOps) {
      for (int variant = 1; variant < 16; ++variant) {
        Pass pass = pass_over(operands);
        pass.scale_left = (variant & 1) != 0;
        pass.scale_right = (variant & 2) != 0;
        if ((variant & 4) != 0) pass.divide_by = 3;
        if ((variant & 8) != 0) {
          pass.right = nullptr;
          pass.scale_right = false;
        }
        pass.scale = 1.0 / 3;
        pass.scale_int = -77777777777;
        check(type, op, pass);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Kernels, DivisorsBeyondTheElementType) {
  for (const DataType type : types()) {
    const Operands operands = interesting_operands(type, 500);
    for (const uint32_t divisor : {2U, 200U, 65536U, 0x80000001U, 0xffffffffU}) {
      Pass pass = pass_over(operands);
      pass.divide_by = divisor;
      check(type, ReduceOp::kSum, pass);
    }
  }
}

TEST(Kernels, DocumentedResults) {
  struct Case {
    DataType type;
    ReduceOp op;
    uint64_t left, right, result;
  };
  const Case cases[] = {
      {DataType::kFloat32, ReduceOp::kSum, 0x7f800000, 0xff800000, 0x7fc00000},   // inf - inf
      {DataType::kFloat32, ReduceOp::kProd, 0x7f800000, 0x80000000, 0x7fc00000},  // inf * -0
      {DataType::kFloat32, ReduceOp::kSum, 0x80000000, 0x80000000, 0x80000000},   // -0 + -0
      {DataType::kFloat32, ReduceOp::kSum, 0x00000001, 0x00000001, 0x00000002},   // subnormals
      {DataType::kFloat32, ReduceOp::kMax, 0x80000000, 0x00000000, 0x00000000},
      {DataType::kFloat32, ReduceOp::kMin, 0x00000000, 0x80000000, 0x80000000},
      {DataType::kFloat32, ReduceOp::kMax, 0xffc00001, 0xff800000, 0xff800000},  // NaN loses
      {DataType::kFloat32, ReduceOp::kMin, 0x3f800000, 0x7fc00001, 0x3f800000},
      {DataType::kFloat32, ReduceOp::kMin, 0xffc00001, 0x7fc00002, 0xffc00001},  // left NaN
      {DataType::kFloat64, ReduceOp::kSum, 0xfff0000000000001, 0, 0x7ff8000000000000},
      {DataType::kFloat16, ReduceOp::kSum, 0x7bff, 0x4c00, 0x7c00},   // 65504 + 16: a tie up
      {DataType::kFloat16, ReduceOp::kSum, 0x7bff, 0x4bff, 0x7bff},   // less than half a unit
      {DataType::kBfloat16, ReduceOp::kSum, 0x3f80, 0x3b80, 0x3f80},  // 1 + 2^-8: a tie to even
      {DataType::kBfloat16, ReduceOp::kSum, 0x3f81, 0x3b80, 0x3f82},
      {DataType::kFloat8e4m3, ReduceOp::kSum, 0x7e, 0x7e, 0x7e},  // 448 + 448
      {DataType::kFloat8e4m3, ReduceOp::kSum, 0xfe, 0xfe, 0xfe},
      {DataType::kFloat8e4m3, ReduceOp::kSum, 0xff, 0x00, 0x7f},
      {DataType::kFloat8e4m3, ReduceOp::kMax, 0x7f, 0xfe, 0xfe},
      {DataType::kFloat8e5m2, ReduceOp::kSum, 0x7b, 0x7b, 0x7b},  // 57344 + 57344
      {DataType::kFloat8e5m2, ReduceOp::kSum, 0x7c, 0x3c, 0x7b},  // inf + 1
      {DataType::kFloat8e5m2, ReduceOp::kSum, 0x7c, 0xfc, 0x7f},
      {DataType::kFloat8e5m2, ReduceOp::kMax, 0x7c, 0x3c, 0x7c},  // picks, does not round
      {DataType::kInt8, ReduceOp::kSum, 0x7f, 0x01, 0x80},
      {DataType::kUint64, ReduceOp::kMax, 0x8000000000000000, 1, 0x8000000000000000},
      {DataType::kInt64, ReduceOp::kMax, 0x8000000000000000, 1, 1},
  };
  for (const Case& c : cases) {
    for (const Isa isa : isas()) {
      uint64_t out = 0;
      const Pass pass = {.out = &out, .left = &c.left, .right = &c.right, .count = 1};
      reduce_kernel(c.type, c.op, isa)(pass);
      EXPECT_EQ(out, c.result) << label(c.type, c.op, isa) << std::hex << " of " << c.left << ", "
                               << c.right;
    }
  }
}

// --- memory ---

constexpr size_t kGuard = 80;

/// Runs `kernel` with both outputs, or one, between guard bytes at the given misalignments.
struct Memory {
  Bytes out;
  Bytes ring;
  size_t out_at;
  size_t ring_at;

  Memory(size_t bytes, size_t shift)
      : out(bytes + 2 * kGuard, 0x5a),
        ring(bytes + 2 * kGuard, 0x5a),
        out_at(shift),
        ring_at((shift * 7 + 3) % kGuard) {}

  void expect(const Bytes& want, bool use_out, bool use_ring, const std::string& what) const {
    compare(out, out_at, use_out ? want : Bytes(), what + " out");
    compare(ring, ring_at, use_ring ? want : Bytes(), what + " ring");
  }

 private:
  static void compare(const Bytes& got, size_t at, const Bytes& want, const std::string& what) {
    Bytes all(got.size(), 0x5a);
    std::copy(want.begin(), want.end(), all.begin() + static_cast<std::ptrdiff_t>(at));
    const auto differs = std::mismatch(all.begin(), all.end(), got.begin());
    ASSERT_EQ(differs.first, all.end())
        << what << ": wrong byte at " << (differs.first - all.begin()) - static_cast<long>(at);
  }
};

void check_memory(DataType type, ReduceOp op, Pass pass, size_t shift) {
  const Bytes want = expected_output(type, op, pass);
  for (const Isa isa : isas()) {
    for (int outputs = 0; outputs < 4; ++outputs) {
      Memory memory(want.size(), shift);
      pass.out = (outputs & 1) != 0 ? memory.out.data() + memory.out_at : nullptr;
      pass.ring = (outputs & 2) != 0 ? memory.ring.data() + memory.ring_at : nullptr;
      reduce_kernel(type, op, isa)(pass);
      memory.expect(want, pass.out != nullptr, pass.ring != nullptr,
                    label(type, op, isa) + " count " + std::to_string(pass.count) + " shift " +
                        std::to_string(shift));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Kernels, AllLengthsAndMisalignmentsWithBothOutputs) {
  std::mt19937_64 random(7);
  for (const DataType type : types()) {
    const Operands operands = interesting_operands(type, 400);
    for (size_t count = 0; count <= 200; ++count) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
        Pass pass = pass_over(operands);
        const size_t skip = random() % 3;  // the operands are misaligned too
        pass.left = operands.left.data() + skip;
        pass.right = operands.right.data() + 3 * skip;
        pass.count = count;
        if (random() % 8 == 0) pass.scale_right = true;
        if (random() % 8 == 0) pass.right = nullptr;
        pass.nontemporal = random() % 2 == 0;
        check_memory(type, op, pass, random() % kGuard);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Kernels, StreamedStoresAtAllMisalignments) {
  for (const DataType type : types()) {
    const Operands operands = interesting_operands(type, 10000);
    for (size_t shift = 0; shift < 67; ++shift) {
      Pass pass = pass_over(operands);
      pass.count = 4096 / size_of(type) + 3 * shift + 1;
      pass.nontemporal = true;
      pass.scale_left = shift % 3 == 1;
      pass.scale = 0.75;
      if (shift % 3 == 2) pass.right = nullptr;
      check_memory(type, ReduceOp::kSum, pass, shift);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Kernels, OutputMayBeAnOperand) {
  for (const DataType type : types()) {
    const Operands operands = interesting_operands(type, 3000);
    for (const size_t count : {size_t{1}, size_t{77}, operands.count}) {
      for (int variant = 0; variant < 8; ++variant) {
        Pass pass = pass_over(operands);
        pass.count = count;
        pass.nontemporal = (variant & 2) != 0;
        pass.scale_right = (variant & 4) != 0;
        pass.scale = 0.5;
        const Bytes want = expected_output(type, ReduceOp::kSum, pass);
        for (const Isa isa : isas()) {
          Operands mine = operands;
          Bytes ring(want.size());
          pass.left = mine.left.data();
          pass.right = mine.right.data();
          pass.out = (variant & 1) != 0 ? mine.left.data() : mine.right.data();
          pass.ring = ring.data();
          reduce_kernel(type, ReduceOp::kSum, isa)(pass);
          EXPECT_EQ(std::memcmp(pass.out, want.data(), want.size()), 0)
              << label(type, ReduceOp::kSum, isa);
          EXPECT_EQ(ring, want) << label(type, ReduceOp::kSum, isa);
        }
      }
    }
  }
}

TEST(Kernels, CopyMovesBytesToBothOutputs) {
  std::mt19937_64 random(9);
  Bytes source(20000);
  for (uint8_t& byte : source) byte = static_cast<uint8_t>(random());
  std::vector<size_t> counts;
  for (size_t count = 0; count <= 300; ++count) counts.push_back(count);
  counts.insert(counts.end(), {4095, 4096, 4097, 8191, 19900});
  for (const size_t count : counts) {
    for (const Isa isa : isas()) {
      for (int variant = 0; variant < 8; ++variant) {
        const size_t skip = random() % 64;
        const Bytes want(source.begin() + static_cast<std::ptrdiff_t>(skip),
                         source.begin() + static_cast<std::ptrdiff_t>(skip + count));
        Memory memory(count, random() % kGuard);
        Pass pass = {.left = source.data() + skip, .count = count};
        if ((variant & 1) != 0) pass.out = memory.out.data() + memory.out_at;
        if ((variant & 2) != 0) pass.ring = memory.ring.data() + memory.ring_at;
        pass.nontemporal = (variant & 4) != 0;
        copy_kernel(isa)(pass);
        memory.expect(want, pass.out != nullptr, pass.ring != nullptr,
                      "copy " + std::string(name_of(isa)) + " count " + std::to_string(count));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Kernels, CopyInPlaceStillFillsTheRing) {
  Bytes data(5000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 31);
  const Bytes before = data;
  for (const Isa isa : isas()) {
    for (const bool nontemporal : {false, true}) {
      Bytes ring(data.size());
      copy_kernel(isa)({.out = data.data(),
                        .ring = ring.data(),
                        .left = data.data(),
                        .count = data.size(),
                        .nontemporal = nontemporal});
      EXPECT_EQ(data, before);
      EXPECT_EQ(ring, before);
      copy_kernel(isa)({.out = data.data(), .left = data.data(), .count = data.size()});
      EXPECT_EQ(data, before);
    }
  }
}

TEST(Kernels, NoElementsTouchNothing) {
  for (const DataType type : types()) {
    for (const Isa isa : isas()) {
      for (const bool nontemporal : {false, true}) {
        reduce_kernel(type, ReduceOp::kSum, isa)({.nontemporal = nontemporal});
        copy_kernel(isa)({.nontemporal = nontemporal});
      }
    }
  }
}

// --- mode and choice ---

#if defined(__x86_64__)
TEST(Kernels, TheCallersFloatModeNeitherMattersNorChanges) {
  constexpr unsigned kFlushAll = 0x8040;  // FTZ and DAZ
  constexpr unsigned kUpward = 0x4000;
  const unsigned before = _mm_getcsr();
  for (const DataType type : types()) {
    const Operands operands = interesting_operands(type, 1000);
    for (const ReduceOp op : kOps) {
      for (int variant = 0; variant < 3; ++variant) {
        Pass pass = pass_over(operands);
        pass.scale_left = variant > 0;
        if (variant > 1) pass.right = nullptr;
        pass.scale = 0.3;
        const Bytes want = expected_output(type, op, pass);
        for (const Isa isa : isas()) {
          Bytes out(want.size());
          pass.out = out.data();
          const unsigned mode = (before & ~0x3fU) | kFlushAll | kUpward;
          _mm_setcsr(mode);
          reduce_kernel(type, op, isa)(pass);
          const unsigned after = _mm_getcsr();
          _mm_setcsr(before);
          EXPECT_EQ(after, mode) << label(type, op, isa);
          expect_same(type, pass, want, out.data(), label(type, op, isa) + " under FTZ and DAZ");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Kernels, UnmaskedExceptionsDoNotTrap) {
  const unsigned before = _mm_getcsr();
  const float left[2] = {0x1.fffffep127F, -INFINITY};
  const float right[2] = {0x1.fffffep127F, INFINITY};
  for (const Isa isa : isas()) {
    float out[2] = {};
    _mm_setcsr(before & ~0x1fffU);  // every exception traps
    reduce_kernel(DataType::kFloat32, ReduceOp::kSum,
                  isa)({.out = out, .left = left, .right = right, .count = 2});
    _mm_setcsr(before);
    EXPECT_EQ(out[0], INFINITY);
    EXPECT_TRUE(std::isnan(out[1]));
  }
}
#endif

TEST(Kernels, TheLimitCapsTheInstructionSet) {
  EXPECT_EQ(best_isa(Isa::kScalar), Isa::kScalar);
  EXPECT_LE(best_isa(Isa::kAvx2), Isa::kAvx2);
  EXPECT_EQ(best_isa(), best_isa(Isa::kAvx512));
  EXPECT_EQ(name_of(Isa::kScalar), "scalar");
  EXPECT_EQ(name_of(Isa::kAvx2), "AVX2");
  EXPECT_EQ(name_of(Isa::kAvx512), "AVX-512");
  // An instruction set that the machine lacks is answered by the best one below it.
  EXPECT_EQ(copy_kernel(Isa::kAvx512), copy_kernel(best_isa()));
  if (best_isa() != Isa::kScalar) {
    EXPECT_NE(copy_kernel(best_isa()), copy_kernel(Isa::kScalar));
  }
}

}  // namespace
}  // namespace accl
