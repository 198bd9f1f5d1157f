// Proves that the programs of all ranks together do what their collective says, or tells which
// defect they have.
//
// The programs run over expressions instead of numbers. Lanes joined by bounded one-way streams are
// a Kahn process network, so one interleaving decides the values and the deadlocks of all of them.
// A step happens at once, when its message has arrived, its chunk may be stored and there is room
// for what it sends, as in the executor: a step that receives and sends keeps its message in the
// stream while it waits for room. That is the strictest way; an executor that takes the message
// earlier blocks less.
//
// Pure functions over values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/type.h"
#include "src/plan/program.h"

namespace accl {

/// What may be wrong with a set of programs. A kind is told from the programs alone: counts of
/// messages and lanes first, then how the run ends, then what the outputs hold, and last which
/// single change of one step makes the claim true.
enum class Bug : uint8_t {
  kMalformed,           ///< a number out of range, or a shape that the collective does not have
  kLostMessage,         ///< a stream on which more is received than sent
  kExtraMessage,        ///< a stream on which more is sent than received
  kSwappedMessages,     ///< two messages of a lane that are taken for each other
  kMisdirectedMessage,  ///< sent to one rank, awaited by (or from) another
  kWrongStream,         ///< sent on one stream, awaited on another between the same ranks
  kTwoWriters,          ///< two lanes send on one stream
  kTwoReaders,          ///< two lanes receive from one stream
  kSplitLane,           ///< two lanes of a rank that must be one: nothing else orders their steps
  kReceiveFirstCycle,   ///< lanes wait for each other however much the streams hold
  kNeedsCreditTwo,      ///< lanes wait for each other unless the streams hold more
  kMissingReduction,    ///< an output lacks a contribution
  kDoubledReduction,    ///< an output has a contribution twice
  kReorderedReduction,  ///< ranks (or the rank order that was asked for) differ in operand order
  kWrongChunk,          ///< a chunk that is read or written in the place of another
  kScratchReusedEarly,  ///< scratch overwritten while somebody still needs what it held
  kInPlaceOverwritten,  ///< in place, an `in` chunk is read after its `out` chunk was stored
  kPreMissing,          ///< a contribution that was not loaded from `in`: in place, from `out`
  kPreDoubled,          ///< the pre-operation on a contribution that had it, or on a whole result
  kPreEarly,            ///< the pre-operation on a partial result, to which more is added
  kFinalMissing,        ///< a result without the post-operation
  kFinalDoubled,        ///< a result with it twice, or with it where the collective has none
  kFinalEarly,          ///< the post-operation on a partial result, to which more is added
  kByReferenceOverwritten,  ///< a chunk stored before the peer has read the message that lies in it
};
inline constexpr int kBugs = 24;

/// "lost message", "needs credit 2", ...
std::string_view name_of(Bug bug);

/// What is to be proven about `programs`, one of each rank in rank order.
struct Claim {
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  Rank root = 0;
  bool in_place = false;  ///< `in` and `out` share memory as the collective allows it
  /// Sent chunks are not copied but lent until the peer has finished the step that receives them. A
  /// chunk counts as lent whether the executor would lend the source or the stored value.
  bool by_reference = false;
  bool waits = true;        ///< a store to a lent chunk waits; false: such a store is the defect
  bool rank_order = false;  ///< results must be ((0 + 1) + 2) + ...: what ACCL_DETERMINISTIC asks
  int credits = 1;          ///< messages that a stream holds
  int rounds = 2;           ///< runs back to back: fresh `in` and `out`, same streams and scratch
  std::span<const Program> programs;
};

/// `text` says which rank, lane and step (all from 0), and what is wrong there.
struct Verdict {
  Bug kind = Bug::kMalformed;
  std::string text;
};

/// Nothing if the claim holds, else the first defect. Time and memory are linear in the steps of
/// all ranks (and, where lanes of a rank share chunks, times those lanes); naming a defect takes
/// longer.
std::optional<Verdict> verify(const Claim& claim);

/// Whether the claim holds; does not look for the cause.
bool holds(const Claim& claim);

}  // namespace accl
