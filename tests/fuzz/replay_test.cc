// Runs a fuzz target without libFuzzer: on its seeds, and on many inputs made of them by changing,
// cutting, doubling and joining bytes. The same inputs every time.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/rng.h"
#include "tests/fuzz/fuzz.h"

namespace accl {
namespace {

using Input = std::vector<uint8_t>;

void change(Input& input, const std::vector<Input>& seeds, Rng& rng) {
  const auto place = [&] { return static_cast<size_t>(rng.below(input.size() + 1)); };
  switch (rng.below(5)) {
    case 0:
      if (!input.empty())
        input[rng.below(input.size())] ^= static_cast<uint8_t>(1 + rng.below(255));
      break;
    case 1:
      input.resize(place());
      break;
    case 2:
      input.insert(input.begin() + static_cast<ptrdiff_t>(place()),
                   static_cast<uint8_t>(rng.below(256)));
      break;
    case 3: {
      const Input& other = seeds[rng.below(seeds.size())];
      input.insert(input.end(), other.begin(), other.end());
      break;
    }
    default:  // lengths and counts that are as large as can be
      for (size_t at = place(), end = std::min(at + 4, input.size()); at < end; at++)
        input[at] = 0xff;
  }
}

TEST(Replay, SeedsAndWhatComesOfThem) {
  const std::vector<Input> seeds = fuzz::seeds();
  for (const Input& seed : seeds) EXPECT_EQ(LLVMFuzzerTestOneInput(seed.data(), seed.size()), 0);
  Rng rng(20240901);
  for (int i = 0; i < 20000; i++) {
    Input input = seeds[rng.below(seeds.size())];
    for (uint64_t changes = 1 + rng.below(4); changes > 0; changes--) change(input, seeds, rng);
    EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
}

}  // namespace
}  // namespace accl
