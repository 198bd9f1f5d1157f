// Every algorithm through the real executor and real stream ends, against sums that are easy to
// see.
#include "src/engine/executor.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "device/reduce.h"
#include "tests/engine/bench_ranks.h"

namespace accl {
namespace {

struct Case {
  Collective collective;
  Algorithm algorithm;
};

bool reduces(Collective c) {
  return c == Collective::kAllReduce || c == Collective::kReduceScatter || c == Collective::kReduce;
}

int64_t value(Rank rank, size_t i) { return (rank + 1) * 1000003LL + static_cast<int64_t>(i) * 7; }

int64_t total(int ranks, size_t i) {
  int64_t sum = 0;
  for (Rank r = 0; r < ranks; r++) sum += value(r, i);
  return sum;
}

// One run of one collective on `ranks` ranks with `count` elements, in place or not.
class Trial {
 public:
  Trial(BenchRanks& bench, const Case& c, int ranks, Rank root, size_t count)
      : bench_(bench), case_(c), ranks_(ranks), root_(root), count_(count) {}

  void make(bool in_place, int channels, size_t chunk_bytes) {
    const auto n = static_cast<size_t>(ranks_);
    const bool wide_in =
        case_.collective == Collective::kReduceScatter || case_.collective == Collective::kAllToAll;
    const bool wide_out =
        case_.collective == Collective::kAllGather || case_.collective == Collective::kAllToAll;
    for (Rank r = 0; r < ranks_; r++) {
      in_.emplace_back(count_ * (wide_in ? n : 1));
      out_.emplace_back(count_ * (wide_out ? n : 1), -1);
      for (size_t i = 0; i < in_.back().size(); i++) in_.back()[i] = value(r, i);
    }
    for (Rank r = 0; r < ranks_; r++) {
      const auto at = static_cast<size_t>(r);
      plans_.push_back(bench_.plan({.collective = case_.collective,
                                    .algorithm = case_.algorithm,
                                    .ranks = ranks_,
                                    .rank = r,
                                    .root = root_},
                                   channels, chunk_bytes));
      operations_.push_back(std::make_unique<Operation>());
      bind(*operations_.back(), *plans_.back());
      operations_.back()->in = reinterpret_cast<std::byte*>(in_[at].data());
      operations_.back()->out = reinterpret_cast<std::byte*>(out_[at].data());
      if (in_place) put_in_place(at);
    }
  }

  bool execute() {
    std::vector<Operation*> all;
    for (auto& op : operations_) {
      start(*op);
      all.push_back(op.get());
    }
    return BenchRanks::run(all);
  }

  // Empty, or what is wrong.
  std::string check() const {
    for (Rank r = 0; r < ranks_; r++) {
      const auto* out = reinterpret_cast<const int64_t*>(operations_[static_cast<size_t>(r)]->out);
      const bool has_out = case_.collective != Collective::kReduce || r == root_;
      const size_t length = out_[static_cast<size_t>(r)].size();
      for (size_t i = 0; has_out && i < length; i++) {
        if (out[i] == expected(r, i)) continue;
        return "rank " + std::to_string(r) + " element " + std::to_string(i) + " is " +
               std::to_string(out[i]) + ", expected " + std::to_string(expected(r, i));
      }
    }
    return "";
  }

 private:
  void bind(Operation& op, Plan& plan) const {
    op.plan = &plan;
    op.call = {.collective = case_.collective, .count = count_, .root = root_};
    op.signature = hash(op.call);
    op.math.kernel = reduces(case_.collective)
                         ? reduce_kernel(DataType::kInt64, ReduceOp::kSum, best_isa())
                         : copy_kernel(best_isa());
    op.math.element_bytes = reduces(case_.collective) ? sizeof(int64_t) : 1;
    op.elements = count_ * sizeof(int64_t) / op.math.element_bytes;
    const Program& p = plan.program;
    const int split = std::max(p.in_layout == Layout::kSplit ? p.in_chunks : 1,
                               p.out_layout == Layout::kSplit ? p.out_chunks : 1);
    op.round_count = plan.chunk_bytes / op.math.element_bytes * static_cast<size_t>(split);
    op.rounds = static_cast<uint32_t>((op.elements + op.round_count - 1) / op.round_count);
  }

  void put_in_place(size_t r) {
    Operation& op = *operations_[r];
    switch (case_.collective) {
      case Collective::kAllGather:
        std::copy(in_[r].begin(), in_[r].end(),
                  out_[r].begin() + static_cast<ptrdiff_t>(r * count_));
        op.in = op.out + r * count_ * sizeof(int64_t);
        break;
      case Collective::kReduceScatter:
        op.out = const_cast<std::byte*>(op.in) + r * count_ * sizeof(int64_t);
        break;
      case Collective::kAllToAll:
        break;
      default:
        out_[r] = in_[r];
        op.in = op.out;
    }
  }

  int64_t expected(Rank r, size_t i) const {
    const auto at = static_cast<size_t>(r);
    switch (case_.collective) {
      case Collective::kAllGather:
        return value(static_cast<Rank>(i / count_), i % count_);
      case Collective::kReduceScatter:
        return total(ranks_, at * count_ + i);
      case Collective::kBroadcast:
        return value(root_, i);
      case Collective::kAllToAll:
        return value(static_cast<Rank>(i / count_), at * count_ + i % count_);
      default:
        return total(ranks_, i);
    }
  }

  BenchRanks& bench_;
  Case case_;
  int ranks_;
  Rank root_;
  size_t count_;
  std::vector<std::vector<int64_t>> in_, out_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::vector<std::unique_ptr<Operation>> operations_;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int c = 0; c <= static_cast<int>(Collective::kAllToAll); c++) {
    for (int a = 0; a < kAlgorithms; a++) {
      const Case made{static_cast<Collective>(c), static_cast<Algorithm>(a)};
      if (supports(made.algorithm, made.collective)) cases.push_back(made);
    }
  }
  return cases;
}

using Parameters = std::tuple<Case, bool /*in place*/, bool /*by reference*/>;
class ExecutorTest : public testing::TestWithParam<Parameters> {};

TEST_P(ExecutorTest, ComputesTheCollective) {
  const auto& [c, in_place, by_reference] = GetParam();
  if (in_place && c.collective == Collective::kAllToAll) return;
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (const size_t count : {size_t{1}, size_t{3}, size_t{1000}, size_t{20011}}) {
      for (const size_t chunk : {size_t{4096}, size_t{65536}}) {
        const Rank root = ranks / 2;
        BenchRanks bench(ranks, by_reference);
        Trial run(bench, c, ranks, root, count);
        run.make(in_place, 2, chunk);
        ASSERT_TRUE(run.execute()) << "stuck: ranks " << ranks << " count " << count;
        ASSERT_EQ(run.check(), "") << "ranks " << ranks << " count " << count << " chunk " << chunk;
      }
    }
  }
}

std::string case_name(const testing::TestParamInfo<Parameters>& info) {
  const auto& [c, in_place, by_reference] = info.param;
  std::string name = std::string(name_of(c.collective)) + "_" + std::string(name_of(c.algorithm));
  std::erase(name, '-');
  return name + (in_place ? "_in_place" : "") + (by_reference ? "_by_reference" : "");
}

INSTANTIATE_TEST_SUITE_P(All, ExecutorTest,
                         testing::Combine(testing::ValuesIn(all_cases()), testing::Bool(),
                                          testing::Bool()),
                         case_name);

TEST(WaitPointTest, NamesLaneStepAndPeer) {
  BenchRanks bench(2, false);
  auto plan = bench.plan(
      {.collective = Collective::kAllReduce, .algorithm = Algorithm::kDoubling, .ranks = 2}, 1,
      4096);
  int64_t in = 1;
  int64_t out = 0;
  Operation op;
  op.plan = plan.get();
  op.call = {.collective = Collective::kAllReduce, .count = 1};
  op.signature = hash(op.call);
  op.math = {.kernel = reduce_kernel(DataType::kInt64, ReduceOp::kSum, Isa::kScalar),
             .element_bytes = 8};
  op.elements = 1;
  op.in = reinterpret_cast<std::byte*>(&in);
  op.out = reinterpret_cast<std::byte*>(&out);
  op.round_count = 512;
  op.rounds = 1;
  start(op);
  EXPECT_EQ(advance(op), Advance::kMoved);
  EXPECT_EQ(advance(op), Advance::kBlocked);
  const WaitPoint at = wait_point(op, 0);
  EXPECT_EQ(at.lane, 0u);
  EXPECT_EQ(at.at.step, 1u);
  EXPECT_EQ(at.peer, 1);
  EXPECT_TRUE(at.receives);
}

// A sending end whose messages take a while to leave.
class SlowSend final : public SendEnd {
 public:
  explicit SlowSend(SendEnd& end) : end_(end) {}
  Slice reserve(size_t bytes) override { return end_.reserve(bytes); }
  void commit(uint32_t signature) override { end_.commit(signature); }
  bool buffers() const override { return true; }
  bool settled() override { return left; }
  Status status() override { return end_.status(); }
  bool left = false;

 private:
  SendEnd& end_;
};

TEST(SettleTest, AnOperationIsOverOnceItsMessagesHaveLeft) {
  BenchRanks bench(2, false);
  const Case c{Collective::kAllReduce, Algorithm::kDoubling};
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<Operation> operations(2);
  int64_t in = 1;
  std::vector<int64_t> out(2);
  for (Rank r = 0; r < 2; r++) {
    const auto at = static_cast<size_t>(r);
    plans.push_back(bench.plan(
        {.collective = c.collective, .algorithm = c.algorithm, .ranks = 2, .rank = r}, 1, 4096));
    Operation& op = operations[at];
    op.plan = plans[at].get();
    op.call = {.collective = c.collective, .count = 1};
    op.signature = hash(op.call);
    op.math = {.kernel = reduce_kernel(DataType::kInt64, ReduceOp::kSum, Isa::kScalar),
               .element_bytes = 8};
    op.elements = 1;
    op.in = reinterpret_cast<std::byte*>(&in);
    op.out = reinterpret_cast<std::byte*>(&out[at]);
    op.round_count = 512;
    op.rounds = 1;
  }
  SlowSend slow(*plans[0]->sends[0]);
  plans[0]->sends[0] = &slow;
  plans[0]->buffers = true;
  for (Operation& op : operations) start(op);
  Advance first = advance(operations[0]);
  while (advance(operations[1]) != Advance::kDone) first = advance(operations[0]);
  for (int i = 0; i < 3; i++) first = advance(operations[0]);
  EXPECT_EQ(first, Advance::kBlocked);
  EXPECT_EQ(out[0], 2);
  const WaitPoint at = wait_point(operations[0], 0);
  EXPECT_EQ(at.send, &slow) << "so that a lost connection is noticed";
  EXPECT_EQ(at.peer, 1);
  EXPECT_EQ(wait_point(operations[0], 1).lane, operations[0].lanes.size());
  slow.left = true;
  EXPECT_EQ(advance(operations[0]), Advance::kDone);
}

}  // namespace
}  // namespace accl
