#include "src/tools/plan_command.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace accl {
namespace {

std::string error_of(const PlanRequest& request) {
  Result<std::string> text = plan_command(request);
  if (text.ok()) return "none";
  EXPECT_EQ(text.status().code(), Code::kInvalidArgument);
  return text.status().text();
}

TEST(PlanCommand, PrintsProgramAndTotals) {
  Result<std::string> text = plan_command(
      {.collective = "allreduce", .ranks = 2, .bytes = "1M", .algorithm = "direct", .rank = "0"});
  ASSERT_TRUE(text.ok());
  const std::string first_line = text->substr(0, text->find('\n'));
  EXPECT_EQ(
      first_line.find("AllReduce between 2 ranks on 2 cores, 1048576 bytes in the vector: direct "
                      "(as asked for); "),
      0U)
      << first_line;
  EXPECT_NE(text->find("\nrank 0 of 2, direct AllReduce: 3 steps, 2 messages sent\n"
                       "  in: the vector in 2 chunks; out: the vector in 2 chunks; scratch: 0; "
                       "streams: 2\n"
                       "  lane 0\n"
                       "     0  in[1] -> send 1/0\n"
                       "     1  recv 1/0 (+) in[0] -> out[0] final -> send 1/1\n"
                       "     2  recv 1/1 -> out[1]\n"
                       "\n"
                       "rank  steps  messages  bytes sent\n"
                       "   0      3         2     1048576\n"),
            std::string::npos)
      << *text;
  EXPECT_EQ(text->find("rank 1 of 2"), std::string::npos);
}

TEST(PlanCommand, PrintsAllRanksAndSaysWhoChose) {
  Result<std::string> text = plan_command({.collective = "Broadcast", .ranks = 3, .bytes = "8"});
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("(chosen by the tuner)"), std::string::npos) << *text;
  for (const char* rank : {"rank 0 of 3", "rank 1 of 3", "rank 2 of 3"}) {
    EXPECT_NE(text->find(rank), std::string::npos) << *text;
  }
}

// As in the library: small vectors take another way when ranks share cores.
TEST(PlanCommand, KnowsHowManyCoresThereAre) {
  const auto headline = [](int cores) {
    Result<std::string> text =
        plan_command({.collective = "allreduce", .ranks = 4, .cores = cores, .bytes = "8"});
    return text.ok() ? text->substr(0, text->find(" (chosen")) : text.status().text();
  };
  EXPECT_EQ(headline(4), "AllReduce between 4 ranks on 4 cores, 8 bytes in the vector: doubling");
  EXPECT_EQ(headline(1), "AllReduce between 4 ranks on 1 core, 8 bytes in the vector: flat");
  EXPECT_EQ(headline(0), headline(4));
  EXPECT_EQ(headline(-1), "--cores -1: must be 1 or more, or 0 for one per rank");
}

TEST(PlanCommand, WritesJson) {
  Result<std::string> text = plan_command({.collective = "reduce_scatter",
                                           .ranks = 4,
                                           .bytes = "64K",
                                           .algorithm = "Ring",
                                           .rank = "2",
                                           .json = true});
  ASSERT_TRUE(text.ok());
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json["collective"], "ReduceScatter");
  EXPECT_EQ(json["algorithm"], "ring");
  EXPECT_EQ(json["chosen_by_tuner"], false);
  EXPECT_EQ(json["bytes"], 65536);
  ASSERT_EQ(json["programs"].size(), 1U);
  EXPECT_EQ(json["programs"][0]["rank"], 2);
  EXPECT_EQ(json["programs"][0]["totals"]["messages"], 3);
  EXPECT_EQ(json["programs"][0]["totals"]["bytes_sent"], 3 * 65536);
}

TEST(PlanCommand, RefusesBadInput) {
  EXPECT_EQ(error_of({.collective = "allreduces", .ranks = 2}),
            "unknown collective \"allreduces\": must be one of allreduce, allgather, "
            "reducescatter, broadcast, reduce, alltoall");
  EXPECT_EQ(error_of({.collective = "sendrecv", .ranks = 2}).substr(0, 18), "unknown collective");
  EXPECT_EQ(error_of({.collective = "allreduce", .ranks = 0}), "--ranks 0: must be 1 or more");
  EXPECT_EQ(error_of({.collective = "allreduce", .ranks = 2000000000}),
            "a program for 2000000000 ranks: must be 1 to 16383");
  EXPECT_EQ(error_of({.collective = "allreduce", .ranks = 2, .bytes = "1X"}),
            "--bytes 1X: must be a whole number, perhaps with K, M or G");
  EXPECT_EQ(error_of({.collective = "broadcast", .ranks = 2, .algorithm = "ring"}),
            "--algo ring: Broadcast can use tree, double-tree, chain, flat, hierarchical");
  EXPECT_EQ(error_of({.collective = "alltoall", .ranks = 2, .algorithm = "zip"}),
            "--algo zip: AlltoAll can use direct");
  EXPECT_EQ(error_of({.collective = "allreduce", .ranks = 2, .rank = "2"}),
            "--rank 2: must be 0 to 1 or all");
  EXPECT_EQ(error_of({.collective = "allreduce", .ranks = 2, .rank = "1x"}),
            "--rank 1x: must be 0 to 1 or all");
  EXPECT_EQ(error_of({.collective = "reduce", .ranks = 2, .root = 2}),
            "root 2 of 2 ranks: must be 0 to 1");
  EXPECT_EQ(error_of({.collective = "reduce", .ranks = 2, .groups = -1}),
            "-1 groups of 2 ranks: must be 1 to 2, or 0 to choose");
}

TEST(PlanCommand, ReadsSizes) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("8"), 8U);
  EXPECT_EQ(parse_bytes("8b"), 8U);
  EXPECT_EQ(parse_bytes("64k"), 65536U);
  EXPECT_EQ(parse_bytes("2MiB"), size_t{2} << 20);
  EXPECT_EQ(parse_bytes("3GB"), size_t{3} << 30);
  for (const char* bad : {"", "K", "-1", "1.5M", "1KK", "1iB", "99999999T", "1 M", " 1"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace accl
