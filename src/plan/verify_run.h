// One run of all ranks' programs over expressions: what the checker observes.
//
// Part of the checker (src/plan/verify.h). One thread per object; the claim's programs must outlive
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/plan/verify.h"
#include "src/plan/verify_expression.h"

namespace accl::verify_detail {

/// A step of a program, and in which round it ran.
struct Where {
  Rank rank = -1;  ///< -1: nowhere
  int lane = 0;
  int step = 0;
  int round = 0;
  explicit operator bool() const { return rank >= 0; }
};

/// All that goes from one rank to another under one number.
struct StreamUse {
  Rank from = 0;
  Rank to = 0;
  int number = 0;
  int sends = 0;  ///< in one round
  int recvs = 0;
  int writer = -1;  ///< lane of `from`; -1: none
  int reader = -1;  ///< lane of `to`
  int second_writer = -1;
  int second_reader = -1;
  Where last_send = {};
  Where last_recv = {};
};

enum class End : uint8_t {
  kDone,
  kStuck,        ///< lanes wait and nothing moves any more
  kRace,         ///< two lanes of a rank touch a chunk in no order
  kOverwritten,  ///< a lent chunk was stored
};

class Machine {
 public:
  using Id = Expressions::Id;

  /// Reads the programs. Nothing else may be called unless `malformed()` is empty.
  explicit Machine(const Claim& claim);

  /// What is wrong with the shape of the claim or a program; empty: nothing.
  const std::string& malformed() const { return malformed_; }
  const std::vector<StreamUse>& streams() const { return uses_; }
  /// Streams where sends and receives differ, or with more than one lane at an end.
  bool sound() const;

  /// Runs once, until nothing moves or a defect shows. `credits` 0: without limit.
  End run(int credits);

  // After `run`.

  Where where() const { return where_; }    ///< kRace, kOverwritten: the step that came later
  Where before() const { return before_; }  ///< the one that it met
  bool on_scratch() const { return on_scratch_; }
  /// Where a value first got `flag`.
  Where first(Flag flag) const;
  /// The first step with `final`, in program order of the run.
  Where first_final() const { return first_final_; }
  /// A value was stored in the place of a chunk of another size.
  Where misplaced() const { return misplaced_; }
  /// A store to `out` of a rank that has none.
  Where no_buffer() const { return no_buffer_; }
  Where unwritten() const { return unwritten_; }      ///< a load of what nobody stored
  Where stale_input() const { return stale_input_; }  ///< a load of `in` that holds something else
  Where stale_because() const { return stale_because_; }

  struct Waiting {
    Where at;
    int stream = -1;  ///< of `streams()`; -1: waits for a lent chunk
    bool receives = false;
    int on = -1;  ///< the lane that could help, as a number for `waiting`
  };
  /// The lanes that have not finished; `lane` numbers the lanes of all ranks one after the other.
  bool unfinished(int lane) const;
  Waiting waiting(int lane) const;
  int lanes() const { return static_cast<int>(lanes_.size()); }

  /// What the chunk of `out` holds at the end, and who stored it last.
  Id output(Rank rank, int chunk, int round) const;
  Where writer_of_output(Rank rank, int chunk, int round) const;
  const Expressions& expressions() const { return expressions_; }

  /// True where the collective defines what `out` holds.
  bool has_output(Rank rank) const;
  int out_chunks() const { return out_chunks_; }
  int ranks() const { return claim_.ranks; }
  bool reduces() const { return reduces_; }
  /// Topic of the right value of an output.
  int right_topic(Rank rank, int chunk, int round) const;
  /// The rank whose input an output is, where the collective does not reduce.
  Rank right_source(int chunk) const;

 private:
  struct FlatStep {
    int recv = -1;  // stream
    int send = -1;
    int src = -1;  // place in round 0
    int dst = -1;
    int src_stride = 0;  // from a round to the next
    int dst_stride = 0;
    int dst_chunk = -1;  // the only chunk that may be stored there; -1: any
    bool from_in = false;
    bool left = false;
    bool final_value = false;
  };
  struct LaneRun {
    Rank rank = 0;
    int index = 0;  // among the rank's lanes
    int first = 0;  // in steps_
    int size = 0;
    int step = 0;
    int round = 0;
    int message = -1;    // of the step under way; -1: none
    int component = -1;  // in the vector clocks; -1: shares no chunk
    bool ready = false;
    bool waits_for_loan = false;
  };
  struct Queue {
    int base = 0;  // of its messages
    int head = 0;
    int tail = 0;
    int writer = -1;  // lanes of all ranks
    int reader = -1;
  };
  struct Message {
    Id value = 0;
    std::array<int, 2> lent = {-1, -1};  // places
    Rank from = 0;
  };
  struct Access {
    int writer = -1;  // component
    int time = 0;
    std::vector<std::pair<int, int>> readers;  // component, time
  };

  // Reading the programs.
  std::string check_claim() const;
  std::string check_shape(const Program& program) const;
  bool compile_rank(Rank rank);
  bool compile_step(Rank rank, int lane, int index);
  int stream(Rank from, Rank to, int number);
  int place(Rank rank, Loc loc, int& stride) const;
  void find_shared_chunks();
  void use_stream(FlatStep& flat, const Step& step, Where at);

  // Running them.
  void reset();
  void prepare_queues();
  void set_inputs();
  bool fire(int lane);
  bool take(LaneRun& l, const FlatStep& s);
  Id evaluate(LaneRun& l, const FlatStep& s);
  Id load(const LaneRun& l, const FlatStep& s, int at);
  void store(LaneRun& l, const FlatStep& s, Id value, int at);
  void send(LaneRun& l, const FlatStep& s, Id value, int src, int dst);
  void give_back(LaneRun& l, Queue& q);
  void note_flags(const LaneRun& l, unsigned before, unsigned after);
  bool ordered(const LaneRun& l, int lane, int at, bool write);
  void wake(int lane);
  bool fail(End end, Where at, Where other);
  Where at(const LaneRun& l) const { return {l.rank, l.index, l.step, l.round}; }
  int time(const LaneRun& l) const { return l.round * l.size + l.step + 1; }
  int* clock(int lane) { return clocks_.data() + static_cast<size_t>(lane) * components_; }

  const Claim& claim_;
  std::string malformed_;
  bool reduces_ = false;
  int in_chunks_ = 1;
  int out_chunks_ = 1;

  std::vector<FlatStep> steps_;
  std::vector<LaneRun> lanes_;
  std::vector<int> first_lane_;   // of each rank, in lanes_
  std::vector<int> first_place_;  // of each rank
  std::vector<StreamUse> uses_;
  std::vector<int> first_stream_;  // of from * ranks + to; -1: none
  std::vector<int> next_stream_;
  Where no_buffer_;
  size_t components_ = 0;
  std::vector<Where> component_lane_;

  Expressions expressions_;
  int credits_ = 1;
  std::vector<Queue> queues_;
  std::vector<Message> messages_;
  std::vector<Id> memory_;
  std::vector<Id> original_;    // what an input held at first, by place; kUnwritten elsewhere
  std::vector<Where> writers_;  // by place
  std::vector<int> loans_;      // by place
  std::vector<std::vector<int>> loan_waiters_;  // by rank: lanes
  std::vector<Access> accesses_;                // by place, only when lanes share chunks
  std::vector<int> clocks_;                     // by lane, then component
  std::vector<int> message_clocks_;             // by message, then component
  std::vector<int> ready_;

  bool failed_ = false;
  End end_ = End::kDone;
  Where where_;
  Where before_;
  bool on_scratch_ = false;
  std::array<Where, kFlags> first_;
  Where first_final_;
  Where misplaced_;
  Where unwritten_;
  Where stale_input_;
  Where stale_because_;
};

}  // namespace accl::verify_detail
