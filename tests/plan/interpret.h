// Runs the programs of all ranks over numbers that stand for values, for tests of programs.
//
// A value is three numbers: the sum of what went into it, a hash of the expression (operands in
// order), and how often it was finished. Streams hold one message. In the strict mode a step also
// needs room for what it sends before it takes its message; by reference, a chunk is not written
// before its reader has taken it, and again a strict step waits for that before it takes a message.
// Both are what an executor without spare memory does. Lanes run round after round by themselves.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "src/plan/algorithms.h"
#include "src/plan/program.h"

namespace accl::test {

struct Value {
  uint64_t sum = 0;
  uint64_t expression = 0;
  int pre = 0;       ///< inputs in it that had the pre-operation
  int inputs = 0;    ///< inputs in it
  int finished = 0;  ///< post-operations
  bool operator==(const Value&) const = default;
};

inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15ULL + (b ^ (b >> 29)) * 0xBF58476D1CE4E5B9ULL + 0x632BE5ABULL;
  x ^= x >> 31;
  x *= 0x94D049BB133111EBULL;
  return x ^ (x >> 28);
}

inline Value add(const Value& left, const Value& right) {
  return {left.sum + right.sum, mix(left.expression, right.expression), left.pre + right.pre,
          left.inputs + right.inputs, left.finished + right.finished};
}

/// What rank `rank` contributes as chunk `chunk` of round `round`, as loaded from `in`.
inline Value input(Rank rank, int chunk, int round) {
  const auto seed = mix(mix(static_cast<uint64_t>(rank) + 1, static_cast<uint64_t>(chunk) + 1),
                        static_cast<uint64_t>(round));
  return {seed, seed, 1, 1, 0};
}

struct Mode {
  bool in_place = false;
  bool by_reference = false;
  bool strict = false;
  int credit = 1;
  int rounds = 1;
};

class Interpreter {
 public:
  Interpreter(const std::vector<Program>& programs, Collective collective, Mode mode)
      : programs_(programs), collective_(collective), mode_(mode) {
    for (Rank rank = 0; rank < static_cast<Rank>(programs.size()); ++rank) {
      const Program& program = programs[static_cast<size_t>(rank)];
      for (size_t lane = 0; lane < program.lanes.size(); ++lane) lanes_.push_back({rank, lane});
    }
  }

  /// "" when all lanes came to their end and no message is left; else what went wrong.
  std::string run() {
    for (bool moved = true; moved && error_.empty();) {
      moved = false;
      for (LaneState& lane : lanes_) {
        while (error_.empty() && advance(lane)) moved = true;
      }
    }
    if (!error_.empty()) return error_;
    for (const LaneState& lane : lanes_) {
      if (lane.round < mode_.rounds) {
        return "deadlock: rank " + std::to_string(lane.rank) + " lane " +
               std::to_string(lane.number) + " step " + std::to_string(lane.step) + " round " +
               std::to_string(lane.round) + " of " + to_string(step_of(lane), program_of(lane));
      }
    }
    for (const auto& [stream, messages] : streams_) {
      if (!messages.empty()) return "message left over";
    }
    return "";
  }

  /// What lies in chunk `chunk` of `out`; null if nothing was stored there.
  const Value* out(Rank rank, int chunk, int round) const {
    const auto found = memory_.find(place(rank, accl::out(chunk), round));
    return found == memory_.end() ? nullptr : &found->second;
  }
  long messages() const { return messages_; }

 private:
  struct LaneState {
    Rank rank = 0;
    size_t number = 0;
    size_t step = 0;
    int round = 0;
    bool has_value = false;
    Value value = {};
  };
  using Place = std::tuple<Rank, uint32_t, uint32_t, int>;
  struct Message {
    Value value;
    bool lent = false;
    Place source;
  };

  const Program& program_of(const LaneState& lane) const {
    return programs_[static_cast<size_t>(lane.rank)];
  }
  const Step& step_of(const LaneState& lane) const {
    return program_of(lane).lanes[lane.number][lane.step];
  }

  // In place, `out` is at the rank's own part of `in` or the other way round. Scratch has no
  // rounds.
  Place place(Rank rank, Loc loc, int round) const {
    if (mode_.in_place && loc.where() == Buffer::kIn && collective_ == Collective::kAllGather) {
      loc = accl::out(rank);
    } else if (mode_.in_place && collective_ == Collective::kReduceScatter) {
      if (loc.where() == Buffer::kOut) loc = accl::in(rank);
    } else if (mode_.in_place && loc.where() == Buffer::kIn) {
      loc = accl::out(static_cast<int>(loc.chunk));
    }
    const bool is_scratch = loc.where() == Buffer::kScratch;
    return {rank, +loc.buffer, +loc.chunk, is_scratch ? 0 : round};
  }

  std::deque<Message>& stream(Rank from, Rank to, int number) {
    return streams_[{from, to, number}];
  }

  bool load(const LaneState& lane, Loc loc, Value& value) {
    const auto found = memory_.find(place(lane.rank, loc, lane.round));
    if (loc.where() == Buffer::kIn) {
      value = input(lane.rank, static_cast<int>(loc.chunk), lane.round);
      if (found == memory_.end()) return true;
      error_ = "rank " + std::to_string(lane.rank) + " reads " + to_string(loc) +
               " after it was overwritten";
      return false;
    }
    if (found == memory_.end()) {
      error_ = "rank " + std::to_string(lane.rank) + " reads " + to_string(loc) + " before a store";
      return false;
    }
    value = found->second;
    return true;
  }

  bool may_store(const LaneState& lane) const {
    const Step& step = step_of(lane);
    return !step.dst || !mode_.by_reference ||
           lent_.find(place(lane.rank, step.dst, lane.round)) == lent_.end();
  }
  bool may_send(const LaneState& lane) {
    const Step& step = step_of(lane);
    if (step.send < 0) return true;
    const Port& to = program_of(lane).ports[static_cast<size_t>(step.send)];
    return static_cast<int>(stream(lane.rank, to.peer, to.stream).size()) < mode_.credit;
  }

  void take(LaneState& lane) {
    const Port& from = program_of(lane).ports[static_cast<size_t>(step_of(lane).recv)];
    std::deque<Message>& messages = stream(from.peer, lane.rank, from.stream);
    if (messages.front().lent && --lent_[messages.front().source] == 0) {
      lent_.erase(messages.front().source);
    }
    lane.value = messages.front().value;
    messages.pop_front();
  }

  bool fetch(LaneState& lane) {
    const Step& step = step_of(lane);
    if (step.recv >= 0) {
      const Port& from = program_of(lane).ports[static_cast<size_t>(step.recv)];
      if (stream(from.peer, lane.rank, from.stream).empty()) return false;
    }
    if (mode_.strict && !(may_store(lane) && may_send(lane))) return false;
    Value loaded;
    if (step.src && !load(lane, step.src, loaded)) return false;
    if (step.recv >= 0) take(lane);
    if (step.recv >= 0 && step.src) {
      if (loaded.finished + lane.value.finished > 0) {
        error_ = "a finished value is added";
        return false;
      }
      lane.value = step.src.left ? add(loaded, lane.value) : add(lane.value, loaded);
    } else if (step.src) {
      lane.value = loaded;
    }
    if (step.dst.final_value) ++lane.value.finished;
    lane.has_value = true;
    return true;
  }

  void send(const LaneState& lane) {
    const Step& step = step_of(lane);
    const Port& to = program_of(lane).ports[static_cast<size_t>(step.send)];
    const Loc source = step.dst ? step.dst : step.recv < 0 ? step.src : Loc{};
    Message message{lane.value, mode_.by_reference && source, {}};
    if (message.lent) {
      message.source = place(lane.rank, source, lane.round);
      ++lent_[message.source];
    }
    stream(lane.rank, to.peer, to.stream).push_back(message);
    ++messages_;
  }

  bool advance(LaneState& lane) {
    if (lane.round >= mode_.rounds) return false;
    if (program_of(lane).lanes[lane.number].empty()) {
      lane.round = mode_.rounds;
      return true;
    }
    if (!lane.has_value && !fetch(lane)) return false;
    if (!may_store(lane) || !may_send(lane)) return false;
    const Step& step = step_of(lane);
    if (step.dst) memory_[place(lane.rank, step.dst, lane.round)] = lane.value;
    if (step.send >= 0) send(lane);
    lane.has_value = false;
    if (++lane.step == program_of(lane).lanes[lane.number].size()) {
      lane.step = 0;
      ++lane.round;
    }
    return true;
  }

  const std::vector<Program>& programs_;
  Collective collective_;
  Mode mode_;
  std::vector<LaneState> lanes_;
  std::map<std::tuple<Rank, Rank, int>, std::deque<Message>> streams_;
  std::map<Place, Value> memory_;
  std::map<Place, int> lent_;
  std::string error_;
  long messages_ = 0;
};

/// The programs of all ranks; the error's text goes to `error`.
inline std::vector<Program> programs_of(ProgramSpec spec, std::string& error) {
  std::vector<Program> programs;
  for (spec.rank = 0; spec.rank < spec.ranks; ++spec.rank) {
    Result<Program> program = make_program(spec);
    if (!program.ok()) {
      error = program.status().text();
      return {};
    }
    programs.push_back(std::move(*program));
  }
  return programs;
}

/// What must lie in chunk `chunk` of rank's `out`, but for the expression; inputs == 0: nothing.
inline Value expected(const ProgramSpec& spec, Rank rank, int chunk, int round) {
  const bool is_result = spec.collective != Collective::kReduce || rank == spec.root;
  if (!is_result) return {};
  switch (spec.collective) {
    case Collective::kAllGather:
      return input(chunk, 0, round);
    case Collective::kBroadcast:
      return input(spec.root, chunk, round);
    case Collective::kAllToAll:
      return input(chunk, rank, round);
    default:
      break;
  }
  Value sum;
  for (Rank from = 0; from < spec.ranks; ++from) {
    const int of = spec.collective == Collective::kReduceScatter ? rank : chunk;
    const Value value = input(from, of, round);
    sum = add(sum, value);
  }
  sum.finished = 1;
  return sum;
}

inline std::string check_chunk(const ProgramSpec& spec, Rank rank, int chunk, int round,
                               const Value* found) {
  const Value wanted = expected(spec, rank, chunk, round);
  const std::string where = "out[" + std::to_string(chunk) + "] of rank " + std::to_string(rank);
  if (wanted.inputs == 0) return found ? where + " is written" : "";
  if (!found) return where + " is not written";
  if (found->sum != wanted.sum || found->inputs != wanted.inputs) return where + " is wrong";
  if (found->finished != wanted.finished) {
    return where + " is finished " + std::to_string(found->finished) + " times";
  }
  return "";
}

/// Runs `programs` and compares every result; "" if all is right.
inline std::string run_and_check(const std::vector<Program>& programs, const ProgramSpec& spec,
                                 const Mode& mode) {
  Interpreter machine(programs, spec.collective, mode);
  if (std::string error = machine.run(); !error.empty()) return error;
  for (int round = 0; round < mode.rounds; ++round) {
    for (Rank rank = 0; rank < spec.ranks; ++rank) {
      for (int chunk = 0; chunk < programs[0].out_chunks; ++chunk) {
        const Value* value = machine.out(rank, chunk, round);
        // In place, a rank's input is in `out` until something is stored: `out` finds stores only.
        if (std::string e = check_chunk(spec, rank, chunk, round, value); !e.empty()) return e;
        if (spec.collective == Collective::kAllReduce && *value != *machine.out(0, chunk, round)) {
          return "ranks 0 and " + std::to_string(rank) + " differ in chunk " +
                 std::to_string(chunk);
        }
      }
    }
  }
  return "";
}

inline std::string name_of(const ProgramSpec& spec) {
  return std::string(accl::name_of(spec.algorithm)) + " " +
         std::string(accl::name_of(spec.collective)) + " n=" + std::to_string(spec.ranks) +
         " root=" + std::to_string(spec.root) + " groups=" + std::to_string(spec.groups);
}

}  // namespace accl::test
