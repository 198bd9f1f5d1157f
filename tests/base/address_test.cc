// Addresses: to and from text and the system's form.
#include "src/base/address.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace accl {
namespace {

SocketAddress parsed(std::string_view text) {
  auto address = parse_address(text);
  EXPECT_TRUE(address.ok()) << address.status().text();
  return address.ok() ? *address : SocketAddress();
}

TEST(Address, TextThereAndBack) {
  for (const char* text : {"10.1.2.3", "::1", "2001:db8::7", "fe80::1%lo"}) {
    EXPECT_EQ(describe(parsed(text)), text);
  }
  EXPECT_EQ(describe(parsed("10.1.2.3").with_port(42000)), "10.1.2.3:42000");
  EXPECT_EQ(describe(parsed("::1").with_port(1)), "[::1]:1");
  EXPECT_EQ(describe(parsed("fe80::1%1").with_port(9)), "[fe80::1%lo]:9");
  EXPECT_EQ(describe(SocketAddress()), "no address");
}

TEST(Address, WhatIsNone) {
  for (const char* text : {"", "10.1.2", "10.1.2.300", "host", ":::", "10.1.2.3%lo", "fe80::1%",
                           "fe80::1%no-such-if", "1.2.3.4:80", "[::1]"}) {
    auto address = parse_address(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), Code::kInvalidArgument);
    EXPECT_NE(address.status().text().find(text), std::string::npos);
  }
}

TEST(Address, Kinds) {
  EXPECT_TRUE(parsed("127.0.0.1").is_loopback());
  EXPECT_TRUE(parsed("127.9.9.9").is_loopback());
  EXPECT_TRUE(parsed("::1").is_loopback());
  EXPECT_FALSE(parsed("::2").is_loopback());
  EXPECT_FALSE(parsed("128.0.0.1").is_loopback());
  EXPECT_TRUE(parsed("169.254.3.4").is_link_local());
  EXPECT_TRUE(parsed("fe80::9").is_link_local());
  EXPECT_TRUE(parsed("febf::9").is_link_local());
  EXPECT_FALSE(parsed("fec0::9").is_link_local());
  EXPECT_FALSE(parsed("10.0.0.1").is_link_local());
  EXPECT_TRUE(parsed("0.0.0.0").is_any());
  EXPECT_TRUE(parsed("::").is_any());
  EXPECT_FALSE(parsed("::1").is_any());
}

TEST(Address, OfASocket) {
  for (const char* text : {"127.0.0.1", "::1"}) {
    const SocketAddress wanted = parsed(text);
    const int fd = socket(wanted.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const NativeAddress there = native(wanted);
    ASSERT_EQ(bind(fd, there.get(), there.length), 0);
    const auto bound = local_address(fd);
    EXPECT_FALSE(peer_address(fd).has_value()) << "not connected";
    close(fd);
    ASSERT_TRUE(bound.has_value());
    EXPECT_NE(bound->port, 0);
    EXPECT_EQ(bound->with_port(0), wanted);
  }
  EXPECT_FALSE(local_address(-1).has_value());
}

}  // namespace
}  // namespace accl
