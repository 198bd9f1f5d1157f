// The public headers in C++ and C99. Most of the test is that this file, header_c99.c and
// header_cuda.cc compile (tests/api/header_layout.h); the rest compares what they give.
#include <gtest/gtest.h>

#include <climits>
#include <type_traits>

#include "accl/device.h"
#include "accl/nccl.h"
#include "accl/version.h"
#include "src/base/type.h"
#include "tests/api/header_layout.h"

extern "C" {
ncclConfig_t header_c99_config(void);
ncclSimInfo_t header_c99_sim_info(void);
cudaStream_t header_c99_stream(acclStream_t stream);
}

namespace {

#ifndef ACCL_HAS_CUDA
static_assert(std::is_same_v<cudaStream_t, acclStream_t>);
#endif
static_assert(static_cast<int>(accl::DataType::kFloat8e5m2) == ncclFloat8e5m2);
static_assert(static_cast<int>(accl::DataType::kBfloat16) == ncclBfloat16);
static_assert(accl::kDataTypes == ncclNumTypes);
static_assert(static_cast<int>(accl::ReduceOp::kMin) == ncclMin);

void expect_untouched(const ncclConfig_t& config) {
  EXPECT_EQ(config.size, 72u);
  EXPECT_EQ(config.magic, 0xcafebeefu);
  EXPECT_EQ(config.version, 22707u);
  for (const int field : {config.blocking, config.cgaClusterSize, config.minCTAs, config.maxCTAs,
                          config.splitShare, config.trafficClass, config.collnetEnable,
                          config.CTAPolicy, config.shrinkShare, config.nvlsCTAs}) {
    EXPECT_EQ(field, INT_MIN);
  }
  EXPECT_EQ(config.netName, nullptr);
  EXPECT_EQ(config.commName, nullptr);
}

TEST(HeaderTest, ConfigInitializerIsTheSameInBothLanguages) {
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  expect_untouched(config);
  expect_untouched(header_c99_config());
}

TEST(HeaderTest, SimInfoInitializer) {
  const ncclSimInfo_t here = NCCL_SIM_INFO_INITIALIZER;
  for (const ncclSimInfo_t& info : {here, header_c99_sim_info()}) {
    EXPECT_EQ(info.size, 24u);
    EXPECT_EQ(info.magic, 0x74685283u);
    EXPECT_EQ(info.version, 22707u);
    EXPECT_EQ(info.estimatedTime, -1.0f);
  }
}

TEST(HeaderTest, StreamsAreOneType) {
  int place = 0;
  const auto stream = reinterpret_cast<acclStream_t>(&place);
  EXPECT_EQ(header_c99_stream(stream), stream);
}

TEST(HeaderTest, OwnVersionAsTextAndNumbers) {
  EXPECT_EQ(std::to_string(ACCL_MAJOR) + "." + std::to_string(ACCL_MINOR) + "." +
                std::to_string(ACCL_PATCH),
            ACCL_VERSION_TEXT);
}

}  // namespace
