#include "src/config/load.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "src/base/rng.h"
#include "src/config/accepted.h"

namespace accl {
namespace {

constexpr const char* kNoFile = "/nonexistent/nccl.conf";

// Writes configuration files into a folder of its own.
class LoadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "accl_load_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    for (const std::string& file : files_) unlink(file.c_str());
    rmdir(folder_.c_str());
  }
  std::string write(const std::string& name, const std::string& contents) {
    files_.push_back(folder_ + "/" + name);
    std::ofstream(files_.back()) << contents;
    return files_.back();
  }

  std::string folder_;
  std::vector<std::string> files_;
};

LoadedConfig load(const Environment& environment, const std::string& system_file = kNoFile) {
  auto loaded = load_config(environment, system_file);
  EXPECT_TRUE(loaded.ok()) << loaded.status().text();
  return loaded.ok() ? *loaded : LoadedConfig{};
}

std::string refusal(const Environment& environment) {
  auto loaded = load_config(environment, kNoFile);
  if (loaded.ok()) return "accepted";
  EXPECT_EQ(loaded.status().code(), Code::kInvalidUsage);
  return loaded.status().text();
}

TEST_F(LoadTest, NothingSetGivesTheDefaults) {
  const LoadedConfig loaded = load({{"PATH", "/bin"}, {"HOME", folder_}});
  EXPECT_EQ(loaded.config, Config{});
  EXPECT_EQ(loaded.config.debug, LogLevel::kNone);
  EXPECT_EQ(loaded.config.init_timeout_ms, 300'000);
  EXPECT_EQ(loaded.config.op_timeout_ms, 0);
  EXPECT_TRUE(loaded.config.multi_rank_gpu_enable);
  EXPECT_TRUE(loaded.origins.empty());
  EXPECT_TRUE(loaded.warnings.empty());
}

TEST_F(LoadTest, EveryRowReachesItsField) {
  const LoadedConfig loaded = load({{"NCCL_DEBUG", "info"},
                                    {"NCCL_DEBUG_SUBSYS", "^NET"},
                                    {"NCCL_DEBUG_FILE", "x.%p"},
                                    {"NCCL_ALGO", "Ring,Tree"},
                                    {"NCCL_CHECK_MODE", "debug_local"},
                                    {"NCCL_MULTI_RANK_GPU_ENABLE", "0"},
                                    {"ACCL_ISA", "AVX2"},
                                    {"ACCL_INIT_TIMEOUT", "2.5"},
                                    {"ACCL_OP_TIMEOUT", "5"}});
  const Config expected = {.debug = LogLevel::kInfo,
                           .debug_subsys = kAllSubsystems & ~0x10u,
                           .debug_file = "x.%p",
                           .algo = "Ring,Tree",
                           .check_mode = CheckMode::kDebugLocal,
                           .multi_rank_gpu_enable = false,
                           .isa = IsaLimit::kAvx2,
                           .init_timeout_ms = 2'500,
                           .op_timeout_ms = 5'000};
  EXPECT_EQ(loaded.config, expected);
  EXPECT_EQ(loaded.origins.size(), 9u);
  EXPECT_EQ(loaded.origins.at("ACCL_ISA"), "environment");
  const LogSettings log = log_settings(loaded.config);
  EXPECT_EQ(log.level, LogLevel::kInfo);
  EXPECT_EQ(log.file, "x.%p");
}

TEST_F(LoadTest, EnvironmentBeforeUserFileBeforeSystemFile) {
  const std::string user = write("user.conf",
                                 "# NCCL_ALGO=Chain\nNCCL_ALGO=Tree\r\nno equals sign\n"
                                 "ACCL_OP_TIMEOUT=7\nNCCL_ALGO=Pat\n");
  const std::string system = write("system.conf", "ACCL_OP_TIMEOUT=9\nACCL_INIT_TIMEOUT=8\n");
  LoadedConfig loaded = load({{"NCCL_CONF_FILE", user}}, system);
  EXPECT_EQ(loaded.config.algo, "Tree");
  EXPECT_EQ(loaded.origins.at("NCCL_ALGO"), user + ":2");
  EXPECT_EQ(loaded.config.op_timeout_ms, 7'000);
  EXPECT_EQ(loaded.config.init_timeout_ms, 8'000);
  EXPECT_EQ(loaded.origins.at("ACCL_INIT_TIMEOUT"), system + ":2");

  loaded = load({{"NCCL_CONF_FILE", user}, {"NCCL_ALGO", "Ring"}, {"ACCL_OP_TIMEOUT", ""}}, system);
  EXPECT_EQ(loaded.config.algo, "Ring");
  EXPECT_EQ(loaded.config.op_timeout_ms, 0) << "set but empty means the default, files or not";
}

TEST_F(LoadTest, HomeFileOnlyWithoutConfFile) {
  write(".nccl.conf", "NCCL_ALGO=Direct\n");
  const std::string other = write("other.conf", "");
  EXPECT_EQ(load({{"HOME", folder_}}).config.algo, "Direct");
  EXPECT_EQ(load({{"HOME", folder_}, {"NCCL_CONF_FILE", ""}}).config.algo, "Direct");
  EXPECT_EQ(load({{"HOME", folder_}, {"NCCL_CONF_FILE", other}}).config.algo, "");
  EXPECT_EQ(load({{"HOME", folder_}, {"NCCL_CONF_FILE", kNoFile}}).config.algo, "");
  EXPECT_EQ(load({{"HOME", folder_}, {"NCCL_CONF_FILE", "/"}}).config.algo, "") << "a folder";
}

TEST_F(LoadTest, BlanksAroundNameAndValueAreDropped) {
  const std::string user =
      write("user.conf", " NCCL_ALGO = Ring \r\n\t# NCCL_DEBUG=INFO\nNCCL_DEBUG_FILE=a b\t\n");
  const LoadedConfig loaded = load({{"NCCL_CONF_FILE", user}});
  EXPECT_EQ(loaded.config.algo, "Ring");
  EXPECT_EQ(loaded.config.debug, LogLevel::kNone);
  EXPECT_EQ(loaded.config.debug_file, "a b");
  EXPECT_TRUE(loaded.warnings.empty());
}

TEST_F(LoadTest, AConfFileThatCannotBeReadIsAWarning) {
  EXPECT_EQ(
      load({{"NCCL_CONF_FILE", kNoFile}}).warnings,
      (std::vector<std::string>{"NCCL_CONF_FILE: '/nonexistent/nccl.conf' cannot be read: none "
                                "of its settings count"}));
  EXPECT_EQ(load({{"NCCL_CONF_FILE", folder_}}).warnings.size(), 1U) << "a folder";
  EXPECT_TRUE(load({{"NCCL_CONF_FILE", write("empty.conf", "")}}).warnings.empty());
  EXPECT_TRUE(load({{"HOME", "/nonexistent"}}).warnings.empty()) << "nobody asked for that one";
}

TEST_F(LoadTest, RefusalNamesVariableValueOriginAndWhatIsAllowed) {
  EXPECT_EQ(refusal({{"NCCL_MULTI_RANK_GPU_ENABLE", "yes"}}),
            "NCCL_MULTI_RANK_GPU_ENABLE='yes' (from environment) is not allowed: it takes 0 or 1");
  EXPECT_EQ(refusal({{"NCCL_DEBUG", "LOUD"}}),
            "NCCL_DEBUG='LOUD' (from environment) is not allowed: it takes one of NONE, VERSION, "
            "WARN, INFO, ABORT, TRACE");
  EXPECT_EQ(refusal({{"ACCL_INIT_TIMEOUT", "0"}}),
            "ACCL_INIT_TIMEOUT='0' (from environment) is not allowed: it takes seconds, such as 30 "
            "or 0.5, at least 0.001");
  EXPECT_EQ(refusal({{"ACCL_ISA", "sse"}}),
            "ACCL_ISA='sse' (from environment) is not allowed: it takes one of auto, scalar, avx2, "
            "avx512");
  const std::string file = write("bad.conf", "\n\nACCL_OP_TIMEOUT=soon\n");
  EXPECT_EQ(refusal({{"NCCL_CONF_FILE", file}}),
            "ACCL_OP_TIMEOUT='soon' (from " + file +
                ":3) is not allowed: it takes seconds, such as 30 or 0.5; 0: never an error");
  EXPECT_LT(refusal({{"ACCL_ISA", std::string(100'000, 'x')}}).size(), 500u);
}

TEST_F(LoadTest, UnknownNamesGetTheNearest) {
  const LoadedConfig loaded = load({{"NCCL_SOCKET_IFNAMES", "lo"},
                                    {"NCCL_ALGOS", "Ring"},
                                    {"NCCL_DEUBG", "INFO"},
                                    {"ACCL_INIT_TIME_OUT", "3"},
                                    {"NCCL_TOTALLY_DIFFERENT_THING", "1"},
                                    {"MY_NCCL_THING", "1"}});
  EXPECT_EQ(loaded.warnings,
            (std::vector<std::string>{
                "ACCL_INIT_TIME_OUT (from environment) is not a setting; did you mean "
                "ACCL_INIT_TIMEOUT?",
                "NCCL_ALGOS (from environment) is not a setting; did you mean NCCL_ALGO?",
                "NCCL_DEUBG (from environment) is not a setting; did you mean NCCL_DEBUG?",
                "NCCL_SOCKET_IFNAMES (from environment) is not a setting; did you mean "
                "NCCL_SOCKET_IFNAME?",
                "NCCL_TOTALLY_DIFFERENT_THING (from environment) is not a setting; docs/env.md has "
                "the list",
            }));
}

TEST_F(LoadTest, ShortNamesAreNearOnlyByOneSlip) {
  EXPECT_EQ(nearest_setting("NCCL_ALG"), "NCCL_ALGO");
  EXPECT_EQ(nearest_setting("NCCL_AGLO"), "NCCL_ALGO");
  EXPECT_EQ(nearest_setting("NCCL_LOG"), std::nullopt);
  EXPECT_EQ(nearest_setting("NCCL_ARGS"), std::nullopt);
}

TEST_F(LoadTest, KnownNamesWithoutEffectAreListedNotWarnedOf) {
  const LoadedConfig loaded = load({{"NCCL_NVLS_ENABLE", "0"},
                                    {"NCCL_IB_HCA", ""},
                                    {"NCCL_TESTS_DEVICE", "0"},
                                    {"NCCL_SYM_CTAS", "3"},
                                    {"NCCL_VERSION", "2.21.5-1"},
                                    {"NCCL_CONF_FILE", write("empty.conf", "")},
                                    {"ACCL_HOST_DEVICES", "3"}});
  EXPECT_TRUE(loaded.warnings.empty());
  EXPECT_EQ(loaded.ignored, (std::vector<std::string>{"NCCL_NVLS_ENABLE", "NCCL_SYM_CTAS",
                                                      "NCCL_TESTS_DEVICE", "NCCL_VERSION"}));
}

TEST_F(LoadTest, NoNameIsBothASettingAndWithoutEffect) {
  for_each_param([](const auto& param) { EXPECT_FALSE(is_accepted(param.name)) << param.name; });
  for (const ForeignParam& param : kForeignParams) EXPECT_FALSE(is_accepted(param.name));
}

TEST_F(LoadTest, AnnouncesWarningsAndWhatWasSet) {
  const LoadedConfig loaded =
      load({{"NCCL_ALGOS", "x"}, {"ACCL_OP_TIMEOUT", "1.5"}, {"NCCL_NVLS_ENABLE", "1"}});
  ::testing::internal::CaptureStdout();
  configure_log({LogLevel::kInfo, kDefaultSubsystems, ""});
  announce_config(loaded);
  configure_log({});
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("NCCL WARN NCCL_ALGOS (from environment) is not a setting; did you mean "
                      "NCCL_ALGO?\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("NCCL INFO ACCL_OP_TIMEOUT set by environment to 1.5.\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("NCCL INFO NCCL_NVLS_ENABLE is accepted and has no effect here.\n"),
            std::string::npos)
      << text;
}

TEST_F(LoadTest, AnnouncesTheVersionOnceButNotAtWarn) {
  const auto announced = [&](const char* level) {
    const LoadedConfig loaded = load({{"NCCL_DEBUG", level}});
    ::testing::internal::CaptureStdout();
    configure_log(log_settings(loaded.config));
    announce_config(loaded);
    configure_log({});
    return ::testing::internal::GetCapturedStdout();
  };
  EXPECT_EQ(announced("NONE"), "");
  EXPECT_EQ(announced("WARN"), "");
  EXPECT_EQ(announced("VERSION"), "NCCL version 2.27.7+accl0.1.0\n");
  const std::string info = announced("INFO");
  const size_t at = info.find(" NCCL INFO NCCL version 2.27.7+accl0.1.0\n");
  ASSERT_NE(at, std::string::npos) << info;
  EXPECT_EQ(info.find("NCCL version", at + 20), std::string::npos) << info;
}

TEST_F(LoadTest, ProcessEnvironmentIsASnapshot) {
  setenv("ACCL_OP_TIMEOUT", "4=4", 1);
  const Environment environment = process_environment();
  unsetenv("ACCL_OP_TIMEOUT");
  EXPECT_EQ(environment.at("ACCL_OP_TIMEOUT"), "4=4");
}

TEST_F(LoadTest, HostileFilesAndValuesAreRefusedOrSkipped) {
  Rng rng(11);
  for (int i = 0; i < 300; i++) {
    std::string contents = "ACCL_OP_TIMEOUT=";
    const uint64_t length = rng.below(i == 0 ? 1 : 6'000);
    for (uint64_t k = 0; k < length; k++) contents += static_cast<char>(rng.below(256));
    const std::string file = write("fuzz.conf", contents);
    auto loaded = load_config({{"NCCL_CONF_FILE", file}}, kNoFile);
    if (!loaded.ok()) {
      EXPECT_LT(loaded.status().text().size(), 1'000u);
      continue;
    }
    EXPECT_GE(loaded->config.op_timeout_ms, 0);
  }
}

}  // namespace
}  // namespace accl
