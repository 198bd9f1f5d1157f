#include "src/base/log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <string>
#include <thread>
#include <vector>

namespace accl {
namespace {

// A folder of its own, and the logger put back to silent at the end.
class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "accl_log_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    configure_log({});
    for (const std::string& file : files_) unlink(file.c_str());
    rmdir(folder_.c_str());
  }
  std::string file(const std::string& name) {
    files_.push_back(folder_ + "/" + name);
    return files_.back();
  }
  static std::vector<std::string> lines_of(const std::string& path) {
    std::vector<std::string> lines;
    std::ifstream input(path);
    for (std::string line; std::getline(input, line);) lines.push_back(line);
    return lines;
  }

  std::string folder_;
  std::vector<std::string> files_;
};

TEST_F(LogTest, SilentByDefault) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  bool evaluated = false;
  const auto argument = [&] {
    evaluated = true;
    return 1;
  };
  ACCL_LOG(kWarn, kInit, "{}", argument());
  ACCL_LOG(kInfo, kInit, "{}", argument());
  EXPECT_FALSE(evaluated);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(LogTest, LineShapes) {
  const std::string path = file("shapes");
  configure_log({LogLevel::kInfo, kDefaultSubsystems, path});
  {
    const LogScope scope(1);
    ACCL_LOG(kInfo, kInit, "Init COMPLETE nranks {}", 4);
    ACCL_LOG(kWarn, kNet, "peer {} is gone", 2);
  }
  ACCL_LOG(kInfo, kBootstrap, "no device here");
  log_api_error("ncclSend", "peer 9 is not in 0..1");
  ACCL_LOG(kInfo, kNet, "not a subsystem that was asked for");
  ACCL_LOG(kTrace, kInit, "not a level that was asked for");
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 4u);
  const std::string who = "[^: ]+:" + std::to_string(getpid()) + ":" + std::to_string(gettid());
  EXPECT_TRUE(
      std::regex_match(lines[0], std::regex(who + " \\[1\\] NCCL INFO Init COMPLETE nranks 4")))
      << lines[0];
  EXPECT_TRUE(std::regex_match(lines[1],
                               std::regex("\\[\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\] " + who +
                                          " \\[1\\] log_test.cc:\\d+ NCCL WARN peer 2 is gone")))
      << lines[1];
  EXPECT_TRUE(std::regex_match(lines[2], std::regex(who + " \\[-\\] NCCL INFO no device here")))
      << lines[2];
  EXPECT_TRUE(lines[3].ends_with("[-] ncclSend NCCL WARN peer 9 is not in 0..1")) << lines[3];
}

TEST_F(LogTest, VersionLevelShowsOnlyTheVersionOnStandardOutput) {
  const std::string path = file("unused");
  ::testing::internal::CaptureStdout();
  configure_log({LogLevel::kVersion, kAllSubsystems, path});
  ACCL_LOG(kVersion, kInit, "NCCL version 2.27.7");
  ACCL_LOG(kWarn, kInit, "hidden");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "NCCL version 2.27.7\n");
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "NCCL_DEBUG_FILE counts only above VERSION";
}

TEST_F(LogTest, FileNamePatterns) {
  const std::string pid = std::to_string(getpid());
  std::string host(HOST_NAME_MAX + 1, '\0');
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  host = host.substr(0, host.find_first_of(std::string(".\0", 2)));
  EXPECT_EQ(expand_log_file("x.%h.%p.log"), "x." + host + "." + pid + ".log");
  EXPECT_EQ(expand_log_file("100%%.%q%"), "100%.%q%");
  EXPECT_EQ(expand_log_file("%%p"), "%p");
}

TEST_F(LogTest, UnopenableFileFallsBackToStandardErrorWithOneLine) {
  for (const std::string& path :
       {folder_ + "/missing/x", std::string(2 * PATH_MAX, 'x'), folder_}) {
    ::testing::internal::CaptureStderr();
    configure_log({LogLevel::kInfo, kAllSubsystems, path});
    ACCL_LOG(kInfo, kInit, "goes on");
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
    EXPECT_NE(text.find("NCCL WARN NCCL_DEBUG_FILE: cannot open '" + path.substr(0, 200)),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("NCCL INFO goes on\n"), std::string::npos) << text;
  }
}

TEST_F(LogTest, ReconfigurationMovesToTheNewFile) {
  const std::string first = file("first");
  const std::string second = file("second");
  configure_log({LogLevel::kInfo, kAllSubsystems, first});
  ACCL_LOG(kInfo, kInit, "one");
  configure_log({LogLevel::kInfo, kAllSubsystems, second});
  ACCL_LOG(kInfo, kInit, "two");
  configure_log({LogLevel::kInfo, kAllSubsystems, first});
  ACCL_LOG(kInfo, kInit, "three");
  EXPECT_EQ(lines_of(first).size(), 2u) << "an existing file is appended to";
  EXPECT_EQ(lines_of(second).size(), 1u);
}

TEST_F(LogTest, LinesOfThreadsDoNotMix) {
  const std::string path = file("threads");
  configure_log({LogLevel::kInfo, kAllSubsystems, path});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; i++) ACCL_LOG(kInfo, kInit, "<{}>", std::string(200, "abcd"[t]));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto lines = lines_of(path);
  EXPECT_EQ(lines.size(), 800u);
  const std::regex whole(".* NCCL INFO <(a{200}|b{200}|c{200}|d{200})>");
  for (const std::string& line : lines) ASSERT_TRUE(std::regex_match(line, whole)) << line;
}

TEST_F(LogTest, LongAndHostileTextsStayOneLine) {
  const std::string path = file("hostile");
  configure_log({LogLevel::kInfo, kAllSubsystems, path});
  ACCL_LOG(kInfo, kInit, "{}", "evil\nhost:1:1 [0] NCCL INFO forged\x1b[31m");
  ACCL_LOG(kInfo, kInit, "{}", std::string(100'000, 'x'));
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("evil?host:1:1 [0] NCCL INFO forged?[31m"), std::string::npos);
  EXPECT_EQ(lines[1].size(), static_cast<size_t>(PIPE_BUF) - 1);
  EXPECT_TRUE(lines[1].ends_with("xxx..."));
}

TEST(LogNames, SubsystemsKeepTheBitsOfNccl) {
  EXPECT_EQ(static_cast<uint32_t>(Subsystem::kBootstrap), 0x1000u);
  uint32_t mask = 0;
  std::string unknown;
  ASSERT_TRUE(subsystems_named("init,NET,Ras", &mask, &unknown));
  EXPECT_EQ(mask, 0x1u | 0x10u | 0x8000u);
  EXPECT_EQ(subsystem_names(mask), "INIT,NET,RAS");
  ASSERT_TRUE(subsystems_named("^COLL", &mask, &unknown));
  EXPECT_EQ(mask, kAllSubsystems & ~0x2u);
  ASSERT_TRUE(subsystems_named("ALL", &mask, &unknown));
  EXPECT_EQ(subsystem_names(mask), "ALL");
  EXPECT_FALSE(subsystems_named("INIT,NETT", &mask, &unknown));
  EXPECT_EQ(unknown, "NETT");
}

TEST(LogNames, Levels) {
  LogLevel level = LogLevel::kNone;
  ASSERT_TRUE(log_level_named("warn", &level));
  EXPECT_EQ(level, LogLevel::kWarn);
  EXPECT_EQ(name_of(LogLevel::kTrace), "TRACE");
  EXPECT_FALSE(log_level_named("WARNING", &level));
}

TEST(RateLimitTest, OnePerIntervalAndCountsTheRest) {
  RateLimit limit(100);
  EXPECT_TRUE(limit.pass(1000));
  EXPECT_FALSE(limit.pass(1050));
  EXPECT_FALSE(limit.pass(1099));
  EXPECT_TRUE(limit.pass(1100));
  EXPECT_EQ(limit.take_held_back(), 2u);
  EXPECT_EQ(limit.take_held_back(), 0u);
}

}  // namespace
}  // namespace accl
