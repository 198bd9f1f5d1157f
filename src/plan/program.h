// A collective as data: what one rank does, as lanes of steps.
//
// A step has no opcode, only four optional parts in a fixed order: receive, reduce with, store to,
// send to (docs/adr/0002). A lane is a sequential process; lanes of all ranks are joined by one-way
// streams with one writer, one reader and at least one credit: a Kahn process network (G. Kahn,
// "The semantics of a simple language for parallel programming", 1974), so that results and
// deadlocks do not depend on timing and one simulated run proves them all.
//
// Values: copyable, comparable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/type.h"

namespace accl {

enum class Buffer : uint8_t { kNone, kIn, kOut, kScratch };

/// One chunk of one buffer, in four bytes.
struct Loc {
  uint32_t buffer : 2 = 0;  ///< a Buffer
  uint32_t final_value : 1 =
      0;                  ///< as `dst`: the value is finished here (the post-operation applies)
  uint32_t left : 1 = 0;  ///< as `src` of a reduction: load(src) is the left operand
  uint32_t chunk : 28 = 0;

  Buffer where() const { return static_cast<Buffer>(buffer); }
  explicit operator bool() const { return buffer != 0; }
  bool operator==(const Loc&) const = default;
  /// The same memory, whatever the flags.
  bool same_place(const Loc& other) const { return buffer == other.buffer && chunk == other.chunk; }
};
static_assert(sizeof(Loc) == 4);

constexpr Loc loc_in(Buffer buffer, int chunk) {
  return {.buffer = static_cast<uint32_t>(buffer) & 3U,
          .chunk = static_cast<uint32_t>(chunk) & 0xFFFFFFFU};
}
constexpr Loc in(int chunk) { return loc_in(Buffer::kIn, chunk); }
constexpr Loc out(int chunk) { return loc_in(Buffer::kOut, chunk); }
constexpr Loc scratch(int chunk) { return loc_in(Buffer::kScratch, chunk); }

/// value = recv >= 0 ? message : load(src)
/// with both recv and src: message (+) load(src), or load(src) (+) message if src.left
/// then, if dst: store (post-operation first if dst.final_value); then, if send >= 0: send the
/// value. A value loaded from Buffer::kIn gets the pre-operation as it is loaded. A sent value
/// never has the post-operation unless it was loaded from a finished chunk or the same step stored
/// it with `final_value` (the sent and the stored value of a step are equal).
struct Step {
  int16_t recv = -1;  ///< port of this rank's program, -1: none
  int16_t send = -1;  ///< a port to oneself hands over between two lanes of one rank
  Loc src = {};
  Loc dst = {};
  bool operator==(const Step&) const = default;
};
static_assert(sizeof(Step) == 12);

using Lane = std::vector<Step>;

/// One end of the streams between this rank and `peer`. A port may be used for receiving, for
/// sending, or both: stream `stream` from peer to me, and stream `stream` from me to peer.
struct Port {
  Rank peer = 0;
  uint16_t stream = 0;
  bool operator==(const Port&) const = default;
};

/// How a buffer of the call divides into chunks. "Uneven chunks are defined once": `chunk_range`.
enum class Layout : uint8_t {
  kSplit,   ///< the vector of `count` elements, divided evenly into the program's chunks
  kBlocks,  ///< one block of `count` elements per rank; chunk i is block i (all_gather's output)
  kOwn,     ///< a single block of `count` elements that every chunk number means
};

struct Program {
  std::vector<Port> ports;
  std::vector<Lane> lanes;
  int in_chunks = 1;  ///< chunks that `in` divides into
  int out_chunks = 1;
  int scratch_chunks = 0;  ///< chunks of temporary memory, each as large as the largest chunk
  Layout in_layout = Layout::kSplit;
  Layout out_layout = Layout::kSplit;
  bool operator==(const Program&) const = default;

  /// Index of the port to `peer` on `stream`; added when new.
  int16_t port(Rank peer, int stream);
  /// One more than the largest stream number in use.
  int streams() const;
};

/// Elements [first, first + count) of a vector, for chunk `chunk` of `chunks`.
/// The first (total % chunks) chunks have one element more than the others.
struct Range {
  size_t first = 0;
  size_t count = 0;
};
constexpr Range chunk_range(size_t total, int chunks, int chunk) {
  const auto n = static_cast<size_t>(chunks);
  const auto i = static_cast<size_t>(chunk);
  const size_t base = total / n;
  const size_t extra = total % n;
  return {i * base + (i < extra ? i : extra), base + (i < extra ? 1 : 0)};
}

/// The names of everything in a program, as `accl_info plan` prints them.
std::string to_string(const Loc& loc);
std::string to_string(const Step& step, const Program& program);

}  // namespace accl
