// The grammar of NCCL_SOCKET_IFNAME, value by value.
#include "src/bootstrap/ifname.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace accl {
namespace {

/// Which of the interfaces of a host a value admits, with spaces between.
std::string admitted(std::string_view value,
                     const std::vector<std::string>& host = {"lo", "eth1", "eth10", "ib0"}) {
  const InterfaceNames names = InterfaceNames::parse(value);
  std::string text;
  for (const std::string& name : host) {
    if (names.admits(name)) text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

TEST(InterfaceNames, Grammar) {
  struct Row {
    const char* value;
    const char* admits;
    bool by_name;
  };
  for (const Row& row : {
           Row{"", "lo eth1 eth10 ib0", false},
           Row{"eth1", "eth1 eth10", true},
           Row{"=eth1", "eth1", true},
           Row{"^eth", "lo ib0", false},
           Row{"^=eth1", "lo eth10 ib0", false},
           Row{"zz,eth10", "eth10", true},
           Row{"=eth1,ib0", "eth1 ib0", true},
           Row{"=eth,ib", "", true},
           Row{"^=eth1,ib0", "lo eth10", false},
           Row{"^eth1,lo", "ib0", false},
           Row{"^", "lo eth1 eth10 ib0", false},
           Row{"=", "", true},
           Row{"^=", "lo eth1 eth10 ib0", false},
           Row{",", "", true},
           Row{",,eth10,", "eth10", true},
           Row{"=^eth1", "", true},               // '^' comes first
           Row{"eth1,=ib0", "eth1 eth10", true},  // '=' is for the whole list
           Row{"ETH1", "", true},
           Row{"eth100", "", true},
           Row{"=eth1, ib0", "eth1 ib0", true},
           Row{"^eth, lo ", "ib0", false},
           Row{"nope0", "", true},
       }) {
    EXPECT_EQ(admitted(row.value), row.admits) << "'" << row.value << "'";
    EXPECT_EQ(InterfaceNames::parse(row.value).by_name(), row.by_name) << "'" << row.value << "'";
  }
}

TEST(InterfaceNames, PortRailAndPlaneSayNothing) {
  EXPECT_EQ(admitted("=eth1:1"), "eth1");
  EXPECT_EQ(admitted("=eth1:1:2,ib0:1:0:3"), "eth1 ib0");
  EXPECT_EQ(admitted("^eth:1"), "lo ib0");
  EXPECT_EQ(admitted("=eth1:"), "eth1");
  EXPECT_EQ(admitted(":1"), "");
  EXPECT_EQ(admitted("eth1::::"), "eth1 eth10");
}

TEST(InterfaceNames, OneLetterIsAName) {
  const std::vector<std::string> host = {"lo", "a", "ab", "b"};
  EXPECT_EQ(admitted("a", host), "a ab");
  EXPECT_EQ(admitted("=a", host), "a");
  EXPECT_EQ(admitted("^a", host), "lo b");
  EXPECT_EQ(admitted("b,=a", host), "b");
}

TEST(InterfaceNames, LongValues) {
  std::string value = "=";
  for (int i = 0; i < 20'000; i++) value += "x,";
  EXPECT_EQ(admitted(value), "");
  EXPECT_EQ(admitted(value + "eth1"), "eth1");
  EXPECT_EQ(admitted(std::string(100'000, 'e')), "");
  EXPECT_EQ(admitted(std::string("\0eth1", 5)), "");
  EXPECT_EQ(admitted("\xff\xfe"), "");
}

}  // namespace
}  // namespace accl
