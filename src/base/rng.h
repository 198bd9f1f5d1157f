// Repeatable random numbers, for back-off jitter, simulation and tests. Never for secrets.
//
// xoshiro256++ seeded by splitmix64 (D. Blackman, S. Vigna, "Scrambled linear pseudorandom number
// generators", 2021): the same seed gives the same sequence on every machine. A value; one thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace accl {

/// One step of splitmix64: also a good hash of 64 bits.
constexpr uint64_t splitmix64(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Satisfies std::uniform_random_bit_generator.
class Rng {
 public:
  using result_type = uint64_t;
  explicit constexpr Rng(uint64_t seed) {
    for (uint64_t& word : state_) word = splitmix64(&seed);
  }

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return std::numeric_limits<uint64_t>::max(); }
  constexpr uint64_t operator()() { return next(); }

  /// 64 random bits.
  constexpr uint64_t next() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound) without bias; 0 if bound is 0.
  constexpr uint64_t below(uint64_t bound) {
    if (bound == 0) return 0;
    const uint64_t reject_below = (0 - bound) % bound;
    uint64_t value = next();
    while (value < reject_below) value = next();
    return value % bound;
  }

  /// Uniform in [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// True with the given probability.
  constexpr bool chance(double probability) { return uniform() < probability; }

 private:
  std::array<uint64_t, 4> state_{};
};

}  // namespace accl
