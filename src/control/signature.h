// The signature of a collective call: what all ranks must agree on.
//
// Its 32-bit hash travels in every message of the operation, so that a disagreement is seen where
// messages meet; the full signature stands on the board (board.h), where the text is made. Values;
// any thread; a few nanoseconds.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/type.h"

namespace accl {

struct CallSignature {
  uint64_t sequence = 0;  ///< number of the operation in its communicator
  Collective collective = Collective::kAllReduce;
  uint64_t count = 0;  ///< elements, as the user gave it
  DataType type = DataType::kInt8;
  uint8_t op = 0;     ///< ncclRedOp_t: sum, prod, max, min, avg = 4; pre-multiplied sums are all 5
  int32_t root = -1;  ///< -1: the collective has none

  bool operator==(const CallSignature&) const = default;
};

/// Everything but sequence and count in one word: collective, type, operator, root.
constexpr uint64_t packed(const CallSignature& signature) {
  return static_cast<uint64_t>(signature.collective) | static_cast<uint64_t>(signature.type) << 8 |
         static_cast<uint64_t>(signature.op) << 16 |
         static_cast<uint64_t>(static_cast<uint32_t>(signature.root)) << 32;
}

/// The other way; any word gives a signature, if not always one that a rank could have.
constexpr CallSignature unpacked(uint64_t sequence, uint64_t count, uint64_t word) {
  CallSignature signature;
  signature.sequence = sequence;
  signature.collective = static_cast<Collective>(word & 0xff);
  signature.count = count;
  signature.type = static_cast<DataType>(word >> 8 & 0xff);
  signature.op = static_cast<uint8_t>(word >> 16 & 0xff);
  signature.root = static_cast<int32_t>(word >> 32);
  return signature;
}

/// Never 0. The rounds are those of the finalizer of splitmix64.
constexpr uint32_t hash(const CallSignature& signature) {
  uint64_t z = signature.sequence * 0x9e3779b97f4a7c15u ^ packed(signature);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z ^= signature.count;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  const auto folded = static_cast<uint32_t>(z ^ (z >> 32));
  return folded != 0 ? folded : 1;
}

/// "AllReduce(count 1000, float, sum)", "Broadcast(count 8, int32, root 0)".
std::string describe(const CallSignature& signature);

}  // namespace accl
