// The program as users run it: what it prints where, and its exit codes.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "accl/version.h"

namespace {

struct Outcome {
  int code = -1;
  std::string text;  ///< standard output and error
};

Outcome run(const std::string& arguments) {
  Outcome outcome;
  const std::string command = std::string(ACCL_INFO) + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer;
  while (const size_t bytes = fread(buffer.data(), 1, buffer.size(), pipe)) {
    outcome.text.append(buffer.data(), bytes);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  return outcome;
}

TEST(AcclInfo, PrintsAPlan) {
  const Outcome outcome = run("plan allreduce --ranks 8 --bytes 1M --algo ring");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("rank 7 of 8, ring AllReduce: 15 steps, 14 messages sent"),
            std::string::npos)
      << outcome.text;
}

TEST(AcclInfo, RefusesBadInputWithCode2) {
  const Outcome algorithm = run("plan allreduce --ranks 8 --algo foo");
  EXPECT_EQ(algorithm.code, 2);
  EXPECT_EQ(algorithm.text,
            "accl_info plan: --algo foo: AllReduce can use ring, tree, double-tree, direct, "
            "doubling, flat, hierarchical\n");
  EXPECT_EQ(run("plan allreduce").code, 2);
  EXPECT_NE(run("plan allreduce").text.find("--ranks is required"), std::string::npos);
  EXPECT_EQ(run("plan allreduce --ranks many").code, 2);
  EXPECT_EQ(run("plan").code, 2);
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run("nonsense").code, 2);
  EXPECT_EQ(run("nonsense").text,
            "accl_info: 'nonsense' is not a command; there are plan, algorithms, env (--help says "
            "more)\n");
}

TEST(AcclInfo, PrintsSettingsWithValueAndOrigin) {
  setenv("NCCL_ALGO", "ring", 1);
  const Outcome outcome = run("env");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("NCCL_ALGO=ring  (environment)\n"), std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("ACCL_INIT_TIMEOUT=300  ("), std::string::npos) << outcome.text;
  unsetenv("NCCL_ALGO");
  setenv("ACCL_ISA", "sse", 1);
  const Outcome refused = run("env");
  unsetenv("ACCL_ISA");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.text.find("accl_info env: ACCL_ISA='sse' (from environment)"), 0U)
      << refused.text;
}

TEST(AcclInfo, TellsItsVersion) {
  const Outcome outcome = run("--version");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.text, "accl " ACCL_VERSION_TEXT ", with the interface of NCCL 2.27.7\n");
}

TEST(AcclInfo, Helps) {
  const Outcome outcome = run("plan --help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.text.find("--algo"), std::string::npos);
}

}  // namespace
