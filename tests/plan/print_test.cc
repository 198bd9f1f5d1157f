#include "src/plan/print.h"

#include <gtest/gtest.h>

namespace accl {
namespace {

Program program_of(const ProgramSpec& spec) {
  Result<Program> program = make_program(spec);
  EXPECT_TRUE(program.ok());
  return program.ok() ? *program : Program{};
}

TEST(Print, WritesATable) {
  const ProgramSpec spec{.collective = Collective::kReduce,
                         .algorithm = Algorithm::kTree,
                         .ranks = 4,
                         .rank = 3,
                         .root = 1};
  EXPECT_EQ(print_table(program_of(spec), spec),
            "rank 3 of 4, tree Reduce root 1: 2 steps, 1 message sent\n"
            "  in: the whole vector; out: the whole vector; scratch: 1; streams: 1\n"
            "  lane 0\n"
            "     0  recv 0/0 (+) in[0] -> scratch[0]\n"
            "     1  recv 2/0 (+) scratch[0] -> send 1/0\n");
}

TEST(Print, WritesJson) {
  const ProgramSpec spec{.algorithm = Algorithm::kDoubling, .ranks = 2};
  EXPECT_EQ(print_json(program_of(spec), spec),
            R"({"collective":"AllReduce","algorithm":"doubling","ranks":2,"rank":0,"root":0,)"
            R"("groups":0,"in":{"chunks":1,"layout":"split"},"out":{"chunks":1,"layout":"split"},)"
            R"("scratch_chunks":0,"streams":1,"lanes":[[)"
            R"({"src":{"buffer":"in","chunk":0},"send":{"peer":1,"stream":0}},)"
            R"({"recv":{"peer":1,"stream":0},"src":{"buffer":"in","chunk":0,"left":true},)"
            R"("dst":{"buffer":"out","chunk":0,"final":true}}]]})");
}

TEST(Print, CountsUnevenChunks) {
  const ProgramSpec spec{.algorithm = Algorithm::kDirect, .ranks = 3};
  // Of 11 = 4 + 4 + 3: the contributions to the chunks 1 and 2, and the own chunk 0 twice.
  EXPECT_EQ(totals(program_of(spec), 0, 11), (Totals{.steps = 7, .messages = 4, .bytes_sent = 15}));
}

TEST(Print, CountsScratchAsWhatLiesThere) {
  ProgramSpec spec{
      .collective = Collective::kReduce, .algorithm = Algorithm::kDoubleTree, .ranks = 8};
  size_t sent = 0;
  for (spec.rank = 0; spec.rank < spec.ranks; ++spec.rank) {
    sent += totals(program_of(spec), spec.rank, 100).bytes_sent;
  }
  EXPECT_EQ(sent, 700U);  // each but the root passes on either half once
}

TEST(Print, CountsNoMessageToOneself) {
  EXPECT_EQ(totals(flat_all_reduce(2, 3), 2, 10),
            (Totals{.steps = 5, .messages = 2, .bytes_sent = 20}));
}

}  // namespace
}  // namespace accl
