#include "bench/perf/oracle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "src/base/float.h"

namespace accl::perf {
namespace {

constexpr std::array<std::string_view, kOperators> kOperatorNames = {"sum", "prod", "max",
                                                                     "min", "avg",  "mulsum"};

/// Finalizer of MurmurHash3: every bit of the input moves every bit of the output.
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdULL;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return value ^ (value >> 33);
}

/// What all ranks know of one element, and what one rank adds to it.
uint64_t element_hash(const Problem& problem, size_t index) {
  return mix(index * 0x9e3779b97f4a7c15ULL + problem.seed);
}
uint64_t rank_hash(uint64_t element, int rank) {
  return mix(element + 0xd1b54a32d192ed03ULL * (static_cast<uint64_t>(rank) + 1));
}
/// The top half of a hash, spread over 0 .. range - 1 without a division.
uint64_t spread(uint64_t hash, uint64_t range) { return ((hash >> 32) * range) >> 32; }

/// An integer type. Everything wraps, so any data is exact.
template <class T>
struct Integer {
  using Bits = T;
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;

  static Bits input(const Problem& problem, uint64_t element, int rank) {
    static_cast<void>(problem);
    return static_cast<T>(rank_hash(element, rank));
  }
  static Bits reduced(const Problem& problem, uint64_t element) {
    uint64_t value = 0;
    for (int rank = 0; rank < problem.ranks; ++rank) {
      const T term = input(problem, element, rank);
      const auto wide = static_cast<uint64_t>(term);
      const T so_far = static_cast<T>(value);
      switch (problem.op) {
        case Operator::kSum:
        case Operator::kAvg:
          value += wide;
          break;
        case Operator::kMulSum:
          value += wide * static_cast<uint64_t>(mul_sum_scalar(rank));
          break;
        case Operator::kProd:
          value = rank == 0 ? wide : value * wide;
          break;
        case Operator::kMax:
          value = static_cast<uint64_t>(rank == 0 ? term : std::max(so_far, term));
          break;
        case Operator::kMin:
          value = static_cast<uint64_t>(rank == 0 ? term : std::min(so_far, term));
          break;
      }
    }
    const T sum = static_cast<T>(value);
    if (problem.op != Operator::kAvg) return sum;
    return static_cast<T>(static_cast<Wide>(sum) / static_cast<Wide>(problem.ranks));
  }
  static bool same(const Problem&, Bits expected, Bits actual) { return expected == actual; }
  static Bits constant(int value) { return static_cast<T>(value); }
};

/// A format of floating point numbers: its bits, and conversions that are exact where we use them.
struct Double {
  using Bits = uint64_t;
  static constexpr int kPrecision = 53;
  static double decode(Bits bits) { return std::bit_cast<double>(bits); }
  static Bits encode(double value) { return std::bit_cast<Bits>(value); }
};
struct Single {
  using Bits = uint32_t;
  static constexpr int kPrecision = 24;
  static double decode(Bits bits) { return static_cast<double>(std::bit_cast<float>(bits)); }
  static Bits encode(double value) { return std::bit_cast<Bits>(static_cast<float>(value)); }
};
template <class BitsType, int precision, auto to_float, auto from_float>
struct Narrow {
  using Bits = BitsType;
  static constexpr int kPrecision = precision;
  static double decode(Bits bits) { return static_cast<double>(to_float(bits)); }
  static Bits encode(double value) { return from_float(static_cast<float>(value)); }
};
using Half = Narrow<uint16_t, 11, half_to_float, float_to_half>;
using Bfloat16 = Narrow<uint16_t, 8, bfloat16_to_float, float_to_bfloat16>;
using E4m3 = Narrow<uint8_t, 4, float8e4m3_to_float, float_to_float8e4m3>;
using E5m2 = Narrow<uint8_t, 3, float8e5m2_to_float, float_to_float8e5m2>;

/// Numbers of one format, chosen so that no order of the operations rounds.
template <class Format>
struct Float {
  using Bits = typename Format::Bits;

  static Bits input(const Problem& problem, uint64_t element, int rank) {
    switch (problem.op) {
      case Operator::kMax:
      case Operator::kMin:
        return any_number(rank_hash(element, rank));
      case Operator::kProd:
        return Format::encode(factor(problem, element, rank));
      case Operator::kAvg:
        return Format::encode(share(problem, element, rank));
      case Operator::kSum:
      case Operator::kMulSum:
        break;
    }
    return Format::encode(term(problem, element, rank));
  }

  static Bits reduced(const Problem& problem, uint64_t element) {
    double value = Format::decode(input(problem, element, 0));
    for (int rank = 1; rank < problem.ranks; ++rank) {
      const double next = Format::decode(input(problem, element, rank));
      switch (problem.op) {
        case Operator::kSum:
        case Operator::kAvg:
          value += next;
          break;
        case Operator::kMulSum:
          value += next * mul_sum_scalar(rank);
          break;
        case Operator::kProd:
          value *= next;
          break;
        case Operator::kMax:
          value = std::max(value, next);
          break;
        case Operator::kMin:
          value = std::min(value, next);
          break;
      }
    }
    if (problem.op == Operator::kAvg) value /= problem.ranks;
    return Format::encode(value);
  }

  static bool same(const Problem& problem, Bits expected, Bits actual) {
    if (expected == actual) return true;
    if (problem.op != Operator::kAvg) return false;
    // Averages are positive here, so neighbouring numbers have neighbouring bits.
    const Bits low = std::min(expected, actual);
    return static_cast<Bits>(std::max(expected, actual) - low) <= 2;
  }
  static Bits constant(int value) { return Format::encode(value); }

 private:
  /// 2^precision: integers up to it are exact, hence also every partial sum of integers whose
  /// magnitudes add up to at most this.
  static constexpr uint64_t kBudget = uint64_t{1} << Format::kPrecision;

  static double power(uint64_t element) {
    return static_cast<double>(uint64_t{1} << ((element >> 8) & 3));
  }

  /// A small integer; where the budget is too small for all ranks, +-1 from some of them.
  static double term(const Problem& problem, uint64_t element, int rank) {
    const uint64_t budget = problem.op == Operator::kMulSum ? kBudget / 2 : kBudget;
    const auto ranks = static_cast<uint64_t>(problem.ranks);
    const uint64_t hash = rank_hash(element, rank);
    const uint64_t limit = budget / ranks;
    if (limit > 0) {
      const uint64_t capped = std::min<uint64_t>(limit, 1U << 30);
      const auto drawn = static_cast<int64_t>(spread(hash, 2 * capped + 1));
      return static_cast<double>(drawn - static_cast<int64_t>(capped)) * power(element);
    }
    if ((element + static_cast<uint64_t>(rank)) % ranks >= budget) return 0;
    return (hash & 1) != 0 ? power(element) : -power(element);
  }

  /// Positive on two ranks, zero on the others: a library may divide before or after it adds.
  static double share(const Problem& problem, uint64_t element, int rank) {
    const auto ranks = static_cast<uint64_t>(problem.ranks);
    const uint64_t one = element % ranks;
    const uint64_t other = (one + 1 + (element >> 32) % std::max<uint64_t>(ranks - 1, 1)) % ranks;
    const auto mine = static_cast<uint64_t>(rank);
    if (mine != one && mine != other) return 0;
    const uint64_t most = std::min<uint64_t>(kBudget / 2, 1U << 30);
    return static_cast<double>(1 + spread(rank_hash(element, rank), most)) * power(element);
  }

  /// One rank brings the digits; four bring powers of two; all bring a sign.
  static double factor(const Problem& problem, uint64_t element, int rank) {
    const auto ranks = static_cast<uint64_t>(problem.ranks);
    const uint64_t turn = (element + static_cast<uint64_t>(rank)) % ranks;
    const uint64_t hash = rank_hash(element, rank);
    double value = (hash & 1) != 0 ? 1.0 : -1.0;
    if (turn < 4) value *= std::ldexp(1.0, static_cast<int>((hash >> 1) % 3) - 1);
    if (turn == 0) {
      constexpr double half_budget = static_cast<double>(kBudget / 2);
      const uint64_t digits = (hash >> 8) % (kBudget / 2);
      value *= 1.0 + static_cast<double>(digits) / half_budget;
    }
    return value;
  }

  /// Any bits that are a number; no zero, because the order of +0 and -0 is the library's choice.
  static Bits any_number(uint64_t hash) {
    const Bits bits = static_cast<Bits>(hash);
    const double value = Format::decode(bits);
    return std::isfinite(value) && value != 0 ? bits : Format::encode(1.0);
  }
};

/// Calls `use` with the arithmetic of `type`.
template <class Use>
auto with_arithmetic(DataType type, Use use) {
  switch (type) {
    case DataType::kInt8:
      return use(Integer<int8_t>{});
    case DataType::kUint8:
      return use(Integer<uint8_t>{});
    case DataType::kInt32:
      return use(Integer<int32_t>{});
    case DataType::kUint32:
      return use(Integer<uint32_t>{});
    case DataType::kInt64:
      return use(Integer<int64_t>{});
    case DataType::kUint64:
      return use(Integer<uint64_t>{});
    case DataType::kFloat16:
      return use(Float<Half>{});
    case DataType::kFloat32:
      return use(Float<Single>{});
    case DataType::kFloat64:
      return use(Float<Double>{});
    case DataType::kBfloat16:
      return use(Float<Bfloat16>{});
    case DataType::kFloat8e4m3:
      return use(Float<E4m3>{});
    case DataType::kFloat8e5m2:
      return use(Float<E5m2>{});
  }
  std::abort();
}

template <class Bits>
Bits load(const void* from, size_t index) {
  Bits bits;
  std::memcpy(&bits, static_cast<const char*>(from) + index * sizeof(Bits), sizeof(Bits));
  return bits;
}

/// How many of `count` elements are not what `expected(element hash)` says.
template <class Arithmetic, class Expected>
uint64_t count_wrong(const Problem& problem, size_t first, size_t count, const void* actual,
                     Expected expected) {
  uint64_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto right = expected(element_hash(problem, first + i));
    const auto found = load<typename Arithmetic::Bits>(actual, i);
    if (!Arithmetic::same(problem, right, found)) ++wrong;
  }
  return wrong;
}

}  // namespace

std::string_view name_of(Operator op) { return kOperatorNames[static_cast<size_t>(op)]; }

std::optional<Operator> operator_named(std::string_view name) {
  for (int i = 0; i < kOperators; ++i)
    if (kOperatorNames[static_cast<size_t>(i)] == name) return static_cast<Operator>(i);
  return std::nullopt;
}

std::optional<DataType> type_named(std::string_view name) {
  for (int i = 0; i < kDataTypes; ++i)
    if (accl::name_of(static_cast<DataType>(i)) == name) return static_cast<DataType>(i);
  return std::nullopt;
}

uint64_t mul_sum_scalar_bits(DataType type, int rank) {
  return with_arithmetic(type, [&](auto arithmetic) -> uint64_t {
    return static_cast<uint64_t>(decltype(arithmetic)::constant(mul_sum_scalar(rank)));
  });
}

void fill_input(const Problem& problem, int rank, size_t first, size_t count, void* out) {
  with_arithmetic(problem.type, [&](auto arithmetic) {
    for (size_t i = 0; i < count; ++i) {
      const auto bits = arithmetic.input(problem, element_hash(problem, first + i), rank);
      std::memcpy(static_cast<char*>(out) + i * sizeof bits, &bits, sizeof bits);
    }
  });
}

void poison(void* out, size_t bytes) { std::memset(out, 0xee, bytes); }

uint64_t count_wrong_reduced(const Problem& problem, size_t first, size_t count,
                             const void* actual) {
  return with_arithmetic(problem.type, [&](auto arithmetic) {
    using Arithmetic = decltype(arithmetic);
    return count_wrong<Arithmetic>(problem, first, count, actual, [&](uint64_t element) {
      return Arithmetic::reduced(problem, element);
    });
  });
}

uint64_t count_wrong_copied(const Problem& problem, int rank, size_t first, size_t count,
                            const void* actual) {
  return with_arithmetic(problem.type, [&](auto arithmetic) {
    using Arithmetic = decltype(arithmetic);
    return count_wrong<Arithmetic>(problem, first, count, actual, [&](uint64_t element) {
      return Arithmetic::input(problem, element, rank);
    });
  });
}

}  // namespace accl::perf
