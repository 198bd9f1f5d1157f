#include "src/plan/fuse.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace accl {
namespace {

/// One value per chunk of every buffer.
template <class T>
class PerChunk {
 public:
  explicit PerChunk(const Program& program) {
    for (const Lane& lane : program.lanes) {
      for (const Step& step : lane) {
        for (const Loc& loc : {step.src, step.dst}) {
          std::vector<T>& chunks = values_[loc.buffer];
          if (chunks.size() <= loc.chunk) chunks.resize(loc.chunk + 1U);
        }
      }
    }
  }
  T& operator[](const Loc& loc) { return values_[loc.buffer][loc.chunk]; }
  std::vector<T>& of(Buffer buffer) { return values_[static_cast<size_t>(buffer)]; }

 private:
  std::array<std::vector<T>, 4> values_;
};

bool only_sends(const Step& step) { return step.recv < 0 && step.send >= 0 && !step.dst; }

void merge_sends(Lane& lane) {
  size_t kept = 0;
  for (const Step& step : lane) {
    if (kept > 0 && only_sends(step)) {
      Step& before = lane[kept - 1];
      if (before.send < 0 && before.dst && before.dst.same_place(step.src)) {
        before.send = step.send;
        continue;
      }
    }
    lane[kept++] = step;
  }
  lane.resize(kept);
}

/// Chunks used by more than one lane: what another lane reads cannot be told from one lane's order.
PerChunk<uint8_t> shared_chunks(const Program& program) {
  PerChunk<uint8_t> shared(program);
  PerChunk<int> user(program);
  for (size_t lane = 0; lane < program.lanes.size(); ++lane) {
    for (const Step& step : program.lanes[lane]) {
      for (const Loc& loc : {step.src, step.dst}) {
        if (!loc) continue;
        const int me = static_cast<int>(lane) + 1;
        if (user[loc] != 0 && user[loc] != me) shared[loc] = 1;
        user[loc] = me;
      }
    }
  }
  return shared;
}

/// Backwards over a lane: a chunk is live where its value will still be read, at the end all of
/// `out` is. `live` comes in all false and goes out so.
void drop_dead_stores(Lane& lane, PerChunk<uint8_t>& live, PerChunk<uint8_t>& shared) {
  std::fill(live.of(Buffer::kOut).begin(), live.of(Buffer::kOut).end(), uint8_t{1});
  std::fill(live.of(Buffer::kScratch).begin(), live.of(Buffer::kScratch).end(), uint8_t{0});
  for (auto step = lane.rbegin(); step != lane.rend(); ++step) {
    if (step->dst && !shared[step->dst]) {
      if (!live[step->dst]) {
        step->dst = {};
      } else {
        live[step->dst] = 0;
      }
    }
    const bool has_effect = step->recv >= 0 || step->send >= 0 || step->dst;
    if (!has_effect) step->src = {};
    if (step->src) live[step->src] = 1;
  }
  std::erase(lane, Step{});
}

void number_scratch(Program& program) {
  PerChunk<int> number(program);
  program.scratch_chunks = 0;
  for (Lane& lane : program.lanes) {
    for (Step& step : lane) {
      for (Loc* loc : {&step.src, &step.dst}) {
        if (loc->where() != Buffer::kScratch) continue;
        int& chunk = number[*loc];
        if (chunk == 0) chunk = ++program.scratch_chunks;
        loc->chunk = static_cast<uint32_t>(chunk - 1) & 0xFFFFFFFU;
      }
    }
  }
}

}  // namespace

void fuse(Program& program) {
  PerChunk<uint8_t> shared = shared_chunks(program);
  PerChunk<uint8_t> live(program);
  for (Lane& lane : program.lanes) {
    merge_sends(lane);
    drop_dead_stores(lane, live, shared);
  }
  std::erase_if(program.lanes, [](const Lane& lane) { return lane.empty(); });
  number_scratch(program);
}

}  // namespace accl
