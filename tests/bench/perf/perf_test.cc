// The whole tool: its table and exit codes, planted errors, a killed process.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <string>

namespace {

struct Outcome {
  int code = -1;
  std::string text;
};

Outcome run(const std::string& before, const std::string& arguments) {
  Outcome outcome;
  const std::string command = "exec 2>&1; " + before + " " ACCL_PERF " " + arguments;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    outcome.text.append(buffer, got);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

bool has(const Outcome& outcome, const std::string& text) {
  return outcome.text.find(text) != std::string::npos;
}

TEST(Perf, ProcessesThreadsAndDevicesGiveTheRightResult) {
  for (const char* shape : {"-P 2", "-t 2", "-g 4", "-P 2 -t 2 -g 2", "-P 3 -p 1"}) {
    const Outcome outcome = run("", std::string(shape) + " -b 4 -e 40000 -f 10 -n 2 -c 1");
    EXPECT_EQ(outcome.code, 0) << shape << "\n" << outcome.text;
    EXPECT_TRUE(has(outcome, "# Out of bounds values : 0 OK")) << shape << "\n" << outcome.text;
  }
}

TEST(Perf, AllTypesAndOperatorsAtAnOddCount) {
  const Outcome outcome = run("", "-P 2 -d all -o all -b 1016 -e 1016 -n 1 -w 1 -u 1");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_TRUE(has(outcome, "# Out of bounds values : 0 OK")) << outcome.text;
  EXPECT_TRUE(std::regex_search(outcome.text, std::regex("1016 +1016 +f8e5m2 +mulsum +-1 ")))
      << outcome.text;
}

TEST(Perf, BandwidthIsWhatTheTimeSays) {
  const Outcome outcome = run("", "-P 3 -b 1M -e 1M -n 3");
  const std::regex row("1048576 +262144 +float +sum +-1 +([0-9.]+) +([0-9.]+) +([0-9.]+) +0");
  std::smatch match;
  ASSERT_TRUE(std::regex_search(outcome.text, match, row)) << outcome.text;
  const double algbw = 1048576 / std::stod(match[1]) / 1e3;
  EXPECT_NEAR(std::stod(match[2]), algbw, 0.011);
  EXPECT_NEAR(std::stod(match[3]), algbw * 4 / 3, 0.021);
}

TEST(Perf, NothingToSendIsARowWithoutNonsense) {
  const Outcome outcome = run("", "-P 2 -b 0 -e 16 -f 2 -n 2");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_FALSE(std::regex_search(outcome.text, std::regex("\\b(nan|inf)\\b"))) << outcome.text;
}

TEST(Perf, APlantedErrorIsCountedOnItsLine) {
  for (const char* planted : {"flip", "drop"}) {
    const Outcome outcome = run(std::string("ASAN_OPTIONS=verify_asan_link_order=0 ACCL_PLANT=") +
                                    planted + " LD_PRELOAD=" ACCL_PLANT_LIBRARY,
                                "-P 2 -b 12 -e 12 -n 1 -y 1 -d int32");
    EXPECT_EQ(outcome.code, 7) << outcome.text;
    EXPECT_TRUE(std::regex_search(outcome.text, std::regex("int32 +sum .* 1 .* 1\n")))
        << planted << "\n"
        << outcome.text;
    EXPECT_TRUE(has(outcome, "# Out of bounds values : 2 FAILED")) << outcome.text;
  }
}

TEST(Perf, JsonHasTheResultsAndNotTheEnvironment) {
  const std::string path = testing::TempDir() + "accl_perf_test_" + std::to_string(getpid());
  const Outcome outcome = run("SECRET=hidden", "-P 2 -b 8 -e 8 -n 1 -J " + path);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  std::ifstream file(path);
  const std::string json(std::istreambuf_iterator<char>(file), {});
  unlink(path.c_str());
  EXPECT_NE(json.find("\"out_of_bounds\":{\"count\":0,\"okay\":\"true\"}"), std::string::npos)
      << json;
  EXPECT_EQ(json.find("hidden"), std::string::npos);
}

TEST(Perf, AKilledProcessEndsTheOthersAndIsNamed) {
  // The shell finds the second process by the argument that only it has, among its own children.
  const Outcome outcome =
      run("",
          "-P 2 -N 0 -b 8 -e 1K -f 2 >/dev/null & tool=$!; sleep 1; "
          "for child in $(cat /proc/$tool/task/$tool/children); do victim=$child; done; "
          "kill -KILL $victim; wait $tool; echo code $?; ls -d /proc/$victim");
  EXPECT_TRUE(has(outcome, "process 1 of 2 (rank 1, pid ")) << outcome.text;
  EXPECT_TRUE(has(outcome, "was ended by signal 9")) << outcome.text;
  EXPECT_TRUE(has(outcome, "code 137")) << outcome.text;
  EXPECT_TRUE(has(outcome, "No such file")) << outcome.text;
}

TEST(Perf, RefusalsHaveACodeAndAText) {
  EXPECT_EQ(run("", "-G 1").code, 5);
  EXPECT_EQ(run("", "-R 2 -D 1 -P 2").code, 5);
  const Outcome unknown = run("", "--nonsense");
  EXPECT_EQ(unknown.code, 255);
  EXPECT_TRUE(has(unknown, "USAGE:"));
  EXPECT_TRUE(has(run("", "-d float3 -b 8 -e 8 -n 1"), "invalid type float3, defaulting to float"));
}

}  // namespace
