#include "src/base/float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace accl {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Format {
  const char* name;
  int codes;
  uint32_t sign;
  uint32_t nan;   // what NaNs round to
  float largest;  // finite
  bool saturates;
  float (*widen)(uint32_t);
  uint32_t (*narrow)(float);
};

const std::vector<Format> kFormats = {
    {"half", 65536, 0x8000, 0x7e00, 65504.0F, false,
     [](uint32_t c) { return half_to_float(static_cast<uint16_t>(c)); },
     [](float v) -> uint32_t { return float_to_half(v); }},
    {"bfloat16", 65536, 0x8000, 0x7fc0, 0x1.fep127F, false,
     [](uint32_t c) { return bfloat16_to_float(static_cast<uint16_t>(c)); },
     [](float v) -> uint32_t { return float_to_bfloat16(v); }},
    {"f8e4m3", 256, 0x80, 0x7f, 448.0F, true,
     [](uint32_t c) { return float8e4m3_to_float(static_cast<uint8_t>(c)); },
     [](float v) -> uint32_t { return float_to_float8e4m3(v); }},
    {"f8e5m2", 256, 0x80, 0x7f, 57344.0F, true,
     [](uint32_t c) { return float8e5m2_to_float(static_cast<uint8_t>(c)); },
     [](float v) -> uint32_t { return float_to_float8e5m2(v); }},
};

TEST(Float, EveryFiniteCodeSurvivesTheRoundTrip) {
  for (const Format& format : kFormats) {
    int finite = 0;
    for (int i = 0; i < format.codes; ++i) {
      const auto code = static_cast<uint32_t>(i);
      const float value = format.widen(code);
      if (!std::isfinite(value)) continue;
      ++finite;
      ASSERT_EQ(format.narrow(value), code) << format.name;
    }
    EXPECT_GT(finite, format.codes / 2) << format.name;
  }
}

TEST(Float, NeighboursRoundToTheNearestAndTiesToEven) {
  for (const Format& format : kFormats) {
    for (uint32_t code = 0;; ++code) {
      const float low = format.widen(code);
      const float high = format.widen(code + 1);
      if (!std::isfinite(high)) break;
      ASSERT_LT(low, high) << format.name << " code " << code;
      // Exact: both have far fewer bits than a double.
      const double middle = (static_cast<double>(low) + static_cast<double>(high)) / 2;
      const auto tie = static_cast<float>(middle);
      const uint32_t even = code % 2 == 0 ? code : code + 1;
      ASSERT_EQ(static_cast<double>(tie), middle);
      ASSERT_EQ(format.narrow(tie), even) << format.name << " code " << code;
      ASSERT_EQ(format.narrow(std::nextafter(tie, 0.0F)), code) << format.name;
      ASSERT_EQ(format.narrow(std::nextafter(tie, kInf)), code + 1) << format.name;
      ASSERT_EQ(format.narrow(-tie), even | format.sign) << format.name;
    }
  }
}

TEST(Float, LargeValuesOverflowOrSaturateAsTheFormatSays) {
  for (const Format& format : kFormats) {
    const uint32_t largest = format.narrow(format.largest);
    EXPECT_EQ(format.widen(largest), format.largest) << format.name;
    for (const float value : {kInf, std::numeric_limits<float>::max()}) {
      const uint32_t expected = format.saturates ? largest : largest + 1;
      EXPECT_EQ(format.narrow(value), expected) << format.name;
      EXPECT_EQ(format.narrow(-value), expected | format.sign) << format.name;
    }
    if (!format.saturates) {
      EXPECT_EQ(format.widen(largest + 1), kInf) << format.name;
    }
  }
  EXPECT_EQ(float_to_half(65519.996F), 0x7bff);  // below half a unit above 65504
  EXPECT_EQ(float_to_half(65520.0F), 0x7c00);
}

TEST(Float, ZerosKeepTheirSignAndTinyValuesVanish) {
  for (const Format& format : kFormats) {
    EXPECT_EQ(format.narrow(0.0F), 0U) << format.name;
    EXPECT_EQ(format.narrow(-0.0F), format.sign) << format.name;
    EXPECT_EQ(std::bit_cast<uint32_t>(format.widen(format.sign)), 0x80000000U) << format.name;
    const float smallest = format.widen(1);
    if (smallest / 2 == 0.0F) continue;
    EXPECT_EQ(format.narrow(smallest / 2), 0U) << format.name;
    EXPECT_EQ(format.narrow(-smallest / 2), format.sign) << format.name;
    EXPECT_EQ(format.narrow(std::nextafter(smallest / 2, 1.0F)), 1U) << format.name;
  }
}

TEST(Float, NansBecomeTheCanonicalNan) {
  for (const Format& format : kFormats) {
    for (const uint32_t bits : {0x7fc00000U, 0xffc00000U, 0x7f800001U, 0xffffffffU}) {
      EXPECT_EQ(format.narrow(std::bit_cast<float>(bits)), format.nan) << format.name;
    }
    EXPECT_TRUE(std::isnan(format.widen(format.nan))) << format.name;
    EXPECT_TRUE(std::isnan(format.widen(format.nan | format.sign))) << format.name;
  }
}

TEST(Float, KnownCodes) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0F);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24F);
  EXPECT_EQ(half_to_float(0x7bff), 65504.0F);
  EXPECT_EQ(bfloat16_to_float(0x4049), 3.140625F);
  EXPECT_EQ(float8e4m3_to_float(0x7e), 448.0F);
  EXPECT_EQ(float8e4m3_to_float(0x01), 0x1p-9F);
  EXPECT_EQ(float8e4m3_to_float(0x08), 0x1p-6F);
  EXPECT_EQ(float8e5m2_to_float(0x7b), 57344.0F);
  EXPECT_EQ(float8e5m2_to_float(0x7c), kInf);
  EXPECT_EQ(float8e5m2_to_float(0x01), 0x1p-16F);
  static_assert(float_to_float8e4m3(float8e4m3_to_float(0x35)) == 0x35);
}

}  // namespace
}  // namespace accl
