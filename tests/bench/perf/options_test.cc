#include "bench/perf/options.h"

#include <getopt.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench/perf/report.h"

namespace accl::perf {
namespace {

std::optional<int> parse(const std::vector<const char*>& words, Options& options) {
  std::vector<char*> argv = {const_cast<char*>("bin/all_reduce_perf")};
  for (const char* word : words) argv.push_back(const_cast<char*>(word));
  argv.push_back(nullptr);
  optind = 0;  // glibc: start anew
  return parse_options(static_cast<int>(argv.size()) - 1, argv.data(), options);
}

TEST(Options, DefaultsAreThoseOfNcclTests) {
  Options options;
  EXPECT_FALSE(parse({}, options).has_value());
  EXPECT_EQ(options.program, "all_reduce_perf");
  EXPECT_EQ(options.min_bytes, 33554432U);
  EXPECT_EQ(options.max_bytes, 33554432U);
  EXPECT_EQ(options.step_bytes, 1U << 20);
  EXPECT_EQ(options.iters, 20);
  EXPECT_EQ(options.warmup_iters, 1);
  EXPECT_EQ(options.check, 1);
  EXPECT_EQ(options.average, Average::kMean);
  EXPECT_EQ(options.ranks(), 1);
}

TEST(Options, ShortAndLongForms) {
  Options options;
  EXPECT_FALSE(parse({"-P", "2", "-t", "3", "--ngpus", "4", "-b", "8", "-e", "1.5M", "-f", "2",
                      "--pin", "0", "-z", "3", "-x", "2"},
                     options)
                   .has_value());
  EXPECT_EQ(options.ranks(), 24);
  EXPECT_EQ(options.members(), 6);
  EXPECT_EQ(options.max_bytes, 1536U << 10);
  EXPECT_FALSE(options.pin);
  EXPECT_EQ(options.blocking, Blocking::kOuterWaitAndBarrier);
  EXPECT_EQ(options.cta_policy, 2);
}

TEST(Options, BadValuesSayWhatIsWrongAndShowTheUsage) {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{"-n", "abc"}, "invalid value 'abc' for --iters"},
      {{"-b", "2", "-e", "1"}, "minbytes 2 is larger than maxbytes 1"},
      {{"-b", "-5"}, "invalid value '-5' for --minbytes"},
      {{"-D", "1"}, "-D needs -R 2"},
      {{"stray"}, "unexpected argument 'stray'"},
      {{"-I", "1", "-K", "20"}, "would skip all"},
  };
  for (const auto& [words, text] : cases) {
    Options options;
    testing::internal::CaptureStderr();
    EXPECT_EQ(parse(words, options), kUsage);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(text), std::string::npos) << said;
    EXPECT_NE(said.find("USAGE:"), std::string::npos);
  }
}

// Each process of a launcher would run a test of its own and print a table.
TEST(Options, AStartByALauncherIsRefused) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    setenv(name, "4", 1);
    Options options;
    testing::internal::CaptureStderr();
    EXPECT_EQ(parse({"-b", "8"}, options), kUsage);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(std::string("started 4 times by a launcher (") + name +
                        "): start it once, with -P 4"),
              std::string::npos)
        << said;
    EXPECT_FALSE(parse({"-P", "4"}, options).has_value());
    setenv(name, "1", 1);
    Options alone;
    EXPECT_FALSE(parse({}, alone).has_value());
    unsetenv(name);
  }
}

TEST(Options, TheWorkerArgumentIsNotPassedOn) {
  Options options;
  EXPECT_FALSE(parse({"--worker=1:7", "-P", "2"}, options).has_value());
  ASSERT_TRUE(options.worker.has_value());
  EXPECT_EQ(options.worker->index, 1);
  EXPECT_EQ(options.worker->team_fd, 7);
  EXPECT_EQ(options.args, (std::vector<std::string>{"-P", "2"}));
}

TEST(ParseBytes, Units) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("4K"), 4096U);
  EXPECT_EQ(parse_bytes("2GB"), size_t{2} << 30);
  EXPECT_EQ(parse_bytes("1T"), std::nullopt);
  EXPECT_EQ(parse_bytes("nan"), std::nullopt);
}

TEST(Report, NumbersFitTheirColumns) {
  EXPECT_EQ(fit(0.5, 7), "   0.50");
  EXPECT_EQ(fit(1234.5, 7), "1234.50");
  EXPECT_EQ(fit(12345.6, 7), "12345.6");
  EXPECT_EQ(fit(1234567, 7), "1234567");
  EXPECT_EQ(fit(123456789, 7), "1.2e+08");
}

TEST(Report, StatisticsOfIterations) {
  const PerIteration it = summarize({3, 1, 2, 4}, 1);
  EXPECT_EQ(it.min_us, 1);
  EXPECT_EQ(it.max_us, 4);
  EXPECT_EQ(it.mean_us, 2.5);
  EXPECT_EQ(it.p50_us, 2);
  EXPECT_EQ(it.p99_us, 4);
  EXPECT_NEAR(it.variation_percent, 44.7, 0.1);
}

}  // namespace
}  // namespace accl::perf
