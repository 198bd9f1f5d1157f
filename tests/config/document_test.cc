// docs/env.md and `accl_info env` say what the table says.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "src/config/load.h"

namespace accl {
namespace {

TEST(DocumentTest, EnvDocumentIsUpToDate) {
  std::ifstream file(ACCL_ENV_DOCUMENT);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(written == settings_document())
      << "docs/env.md differs from src/config/config.h: bin/accl_env_document > docs/env.md";
}

TEST(DocumentTest, EveryRowIsInTheDocument) {
  const std::string document = settings_document();
  for_each_param([&](const auto& param) {
    EXPECT_NE(document.find("| `" + std::string(param.name) + "` |"), std::string::npos);
    EXPECT_FALSE(param.text.empty());
  });
  EXPECT_NE(document.find("| `ACCL_INIT_TIMEOUT` | `300` |"), std::string::npos);
  EXPECT_NE(document.find("`NCCL_NVLS_ENABLE`"), std::string::npos);
}

TEST(DocumentTest, DescriptionShowsValueAndOrigin) {
  const auto loaded = load_config(
      {{"ACCL_OP_TIMEOUT", "5"}, {"NCCL_ALGOS", "x"}, {"NCCL_NVLS_ENABLE", "1"}}, "/nonexistent");
  ASSERT_TRUE(loaded.ok());
  const std::string text = describe_settings(*loaded);
  EXPECT_NE(text.find("ACCL_OP_TIMEOUT=5  (environment)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("ACCL_INIT_TIMEOUT=300  (default)\n"), std::string::npos);
  EXPECT_NE(text.find("NCCL_NVLS_ENABLE  (set, accepted, no effect)\n"), std::string::npos);
  EXPECT_NE(text.find("WARN: NCCL_ALGOS (from environment) is not a setting"), std::string::npos);
}

}  // namespace
}  // namespace accl
