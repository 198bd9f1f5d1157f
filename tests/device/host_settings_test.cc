// The parsing of ACCL_HOST_DEVICES.
#include <gtest/gtest.h>

#include "device/host/settings.h"

namespace accl::host {
namespace {

TEST(HostSettings, UnsetOrEmptyIsTheDefault) {
  ASSERT_TRUE(parse_device_count(nullptr).ok());
  EXPECT_EQ(*parse_device_count(nullptr), kDefaultDevices);
  EXPECT_EQ(*parse_device_count(""), kDefaultDevices);
}

TEST(HostSettings, WholeNumbersInRangeAreTaken) {
  EXPECT_EQ(*parse_device_count("1"), 1);
  EXPECT_EQ(*parse_device_count("64"), 64);
  EXPECT_EQ(*parse_device_count("1024"), 1024);
}

TEST(HostSettings, EverythingElseIsRefusedWithItsText) {
  for (const char* const text :
       {"0", "-1", "1025", "99999999999999999999", "8 ", " 8", "+8", "0x8", "8.0", "many", "8;"}) {
    Result<int> count = parse_device_count(text);
    ASSERT_FALSE(count.ok()) << text;
    EXPECT_EQ(count.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(count.status().text(), std::string("ACCL_HOST_DEVICES is \"") + text +
                                         "\": want a whole number from 1 to 1024");
  }
}

}  // namespace
}  // namespace accl::host
