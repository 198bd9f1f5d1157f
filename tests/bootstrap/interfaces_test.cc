// The choice of interfaces, on recorded hosts.
#include "src/bootstrap/interfaces.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

namespace accl {
namespace {

SocketAddress address(const std::string& text) {
  auto parsed = parse_address(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : SocketAddress();
}

/// One line of a recorded host: "eth0 up carrier 10.0.0.5/24 fe80::5/64".
Interface interface_of(const std::string& line, uint32_t index) {
  std::istringstream words(line);
  Interface interface;
  interface.index = index;
  words >> interface.name;
  for (std::string word; words >> word;) {
    interface.up |= word == "up";
    interface.carrier |= word == "carrier";
    interface.loopback |= word == "loopback";
    interface.bridge |= word == "bridge";
    interface.point_to_point |= word == "tunnel";
    const size_t slash = word.find('/');
    if (slash == std::string::npos) continue;
    SocketAddress there = address(word.substr(0, slash));
    if (there.family == AF_INET6 && there.is_link_local()) there.scope = index;
    interface.addresses.push_back({there, std::stoi(word.substr(slash + 1))});
  }
  return interface;
}

Snapshot host(std::initializer_list<const char*> lines) {
  Snapshot snapshot;
  for (const char* line : lines) {
    const auto index = static_cast<uint32_t>(snapshot.interfaces.size() + 1);
    snapshot.interfaces.push_back(interface_of(line, index));
  }
  return snapshot;
}

const char* const kLo = "lo up carrier loopback 127.0.0.1/8 ::1/128";

/// "eth0 10.0.0.5, eth0 fe80::5%2", or the text of the error.
std::string chosen(const Snapshot& snapshot, const Wishes& wishes = {}) {
  auto choice = choose_interfaces(snapshot, wishes);
  if (!choice.ok()) return choice.status().text();
  std::string text;
  for (const Candidate& candidate : choice->candidates) {
    SocketAddress bare = candidate.address;
    bare.scope = 0;
    text += (text.empty() ? "" : ", ") + candidate.interface + " " + describe(bare);
    if (candidate.address.scope != 0) text += "%" + std::to_string(candidate.address.scope);
  }
  return text;
}

std::string named(const Snapshot& snapshot, const std::string& ifname) {
  return chosen(snapshot, {.ifname = ifname});
}

std::string near(const Snapshot& snapshot, const std::string& where) {
  return chosen(snapshot, {.near = address(where).with_port(42000)});
}

std::vector<std::string> reasons(const Snapshot& snapshot, const Wishes& wishes = {}) {
  auto choice = choose_interfaces(snapshot, wishes);
  EXPECT_TRUE(choice.ok()) << choice.status().text();
  return choice.ok() ? choice->reasons : std::vector<std::string>();
}

Code code(const Snapshot& snapshot, const Wishes& wishes = {}) {
  auto choice = choose_interfaces(snapshot, wishes);
  return choice.ok() ? Code::kOk : choice.status().code();
}

// Scenario A04: much that is of no use, made before what is.
const Snapshot kCrowded = host({
    kLo,
    "veth0 up 10.9.0.1/24",
    "veth1 up carrier fe80::a1/64",
    "veth2 up",
    "docker0 up bridge 172.17.0.1/16",
    "virbr0 bridge 192.168.122.1/24",
    "tun0 up carrier tunnel fe80::b1/64",
    "net1 up carrier 10.0.0.5/24 fe80::c1/64",
});

TEST(Interfaces, CrowdedHost) {
  EXPECT_EQ(chosen(kCrowded), "net1 10.0.0.5");
  EXPECT_EQ(reasons(kCrowded), (std::vector<std::string>{
                                   "lo (127.0.0.1, ::1): passed over: loopback",
                                   "veth0 (10.9.0.1, no carrier): passed over: no carrier",
                                   "veth1 (fe80::a1%veth1): passed over: a link-local address",
                                   "veth2 (no carrier): passed over: no address",
                                   "docker0 (172.17.0.1, no carrier): passed over: no carrier",
                                   "virbr0 (192.168.122.1, down): passed over: down",
                                   "tun0 (fe80::b1%tun0): passed over: a link-local address",
                                   "net1 (10.0.0.5, fe80::c1%net1): used with 10.0.0.5",
                               }));
}

TEST(Interfaces, OrderOfKinds) {
  const char* const ib = "ib0 up carrier 10.1.0.1/24";
  const char* const eth = "eth0 up carrier 10.2.0.1/24";
  const char* const veth = "veth9 up carrier 10.3.0.1/24";
  const char* const bridge = "br0 up carrier bridge 10.4.0.1/24";
  const char* const tunnel = "tun0 up carrier tunnel 10.5.0.1/32";
  const char* const routed = "lo up carrier loopback 127.0.0.1/8 10.6.0.1/32 ::1/128";
  const char* const local = "eth7 up carrier fe80::7/64";
  const char* const docker = "docker0 up carrier bridge 172.17.0.1/16";
  const char* const network = "br-1f2e up carrier bridge 172.18.0.1/16";
  const char* const idle = "eth8 up 10.8.0.1/24";
  EXPECT_EQ(chosen(host({idle, docker, routed, tunnel, bridge, local, veth, eth, ib})),
            "ib0 10.1.0.1, veth9 10.3.0.1, eth0 10.2.0.1, tun0 10.5.0.1, br0 10.4.0.1");
  EXPECT_EQ(chosen(host({idle, docker, routed, local})), "lo 10.6.0.1");
  EXPECT_EQ(chosen(host({idle, docker, kLo, local})), "eth7 fe80::7%4");
  EXPECT_EQ(chosen(host({idle, docker, kLo, network})), "docker0 172.17.0.1, br-1f2e 172.18.0.1");
  EXPECT_EQ(chosen(host({idle, kLo})), "lo 127.0.0.1, lo ::1");
  EXPECT_EQ(chosen(host({idle})), "eth8 10.8.0.1");
}

TEST(Interfaces, LoopbackOnly) {
  EXPECT_EQ(chosen(host({kLo})), "lo 127.0.0.1, lo ::1");
  EXPECT_EQ(
      reasons(host({kLo})),
      (std::vector<std::string>{"lo (127.0.0.1, ::1): used as there is nothing better: loopback"}));
}

TEST(Interfaces, None) {
  const Snapshot down = host({"lo loopback"});
  EXPECT_EQ(code(down), Code::kSystem);
  EXPECT_EQ(chosen(down),
            "no interface with an address is up; without an address there are lo (down)");
  EXPECT_EQ(chosen(host({"lo loopback", "eth0 10.0.0.5/24", "eth1 up carrier"})),
            "no interface with an address is up; there are eth0 (10.0.0.5, down); without an "
            "address lo (down), eth1");
  EXPECT_EQ(chosen(host({})), "no interface with an address is up; there is no interface at all");
  // Nothing is there whatever the wishes are, and none of them is to blame.
  EXPECT_EQ(code(down, {.ifname = "lo", .family = "AF_INET6"}), Code::kSystem);
  EXPECT_EQ(code(down, {.ifname = "eth"}), Code::kInvalidUsage);
}

TEST(Interfaces, Ipv6Only) {
  const Snapshot ula =
      host({"lo up carrier loopback ::1/128", "eth0 up carrier fd00::2/64 fe80::2/64"});
  EXPECT_EQ(chosen(ula), "eth0 fd00::2");
  EXPECT_EQ(chosen(ula, {.family = "AF_INET6"}), "eth0 fd00::2");
  const Snapshot lo = host({"lo up carrier loopback ::1/128"});
  EXPECT_EQ(chosen(lo), "lo ::1");
  EXPECT_EQ(near(lo, "::1"), "lo ::1");
  EXPECT_EQ(code(lo, {.family = "AF_INET"}), Code::kInvalidUsage);
  EXPECT_EQ(chosen(lo, {.family = "AF_INET"}),
            "NCCL_SOCKET_FAMILY='AF_INET': no interface with an AF_INET address is up; there are "
            "lo (::1)");
}

TEST(Interfaces, LinkLocalFirstInTheList) {
  EXPECT_EQ(chosen(host({kLo, "eth0 up carrier fe80::1/64",
                         "eth1 up carrier 10.0.0.6/24 2001:db8::6/64 fe80::6/64"})),
            "eth1 10.0.0.6, eth1 2001:db8::6");
  EXPECT_EQ(chosen(host({kLo, "usb0 up carrier 169.254.3.1/16", "eth1 up carrier 10.0.0.6/24"})),
            "eth1 10.0.0.6");
  const Snapshot only = host({"eth0 up carrier fe80::1/64", "eth1 up carrier fe80::1/64"});
  EXPECT_EQ(chosen(only), "eth0 fe80::1%1, eth1 fe80::1%2");
  EXPECT_EQ(reasons(only)[1],
            "eth1 (fe80::1%eth1): used as there is nothing better: a link-local address");
}

TEST(Interfaces, Family) {
  const Snapshot both = host({kLo, "eth0 up carrier 10.0.0.5/24 fd00::5/64",
                              "eth1 up carrier 10.1.0.5/24", "eth2 up carrier fd02::5/64"});
  EXPECT_EQ(chosen(both), "eth0 10.0.0.5, eth0 fd00::5, eth1 10.1.0.5, eth2 fd02::5");
  EXPECT_EQ(chosen(both, {.family = "AF_INET"}), "eth0 10.0.0.5, eth1 10.1.0.5");
  EXPECT_EQ(chosen(both, {.family = "af_inet6"}), "eth0 fd00::5, eth2 fd02::5");
  EXPECT_EQ(reasons(both, {.family = "AF_INET6"}),
            (std::vector<std::string>{
                "lo (127.0.0.1, ::1): passed over: loopback",
                "eth0 (10.0.0.5, fd00::5): used with fd00::5",
                "eth1 (10.1.0.5): passed over: no AF_INET6 address",
                "eth2 (fd02::5): used",
            }));
  for (const char* bad : {"IPv4", "AF_INET4", "AF_INET ", "2"}) {
    EXPECT_EQ(code(both, {.family = bad}), Code::kInvalidUsage);
    EXPECT_EQ(chosen(both, {.family = bad}), "NCCL_SOCKET_FAMILY='" + std::string(bad) +
                                                 "' is not allowed: it takes AF_INET or AF_INET6");
  }
}

TEST(Interfaces, SeveralAddresses) {
  EXPECT_EQ(
      named(host({kLo, "net1 up carrier 10.0.0.1/24 10.0.0.2/24 10.7.0.3/24 fd00::1/64"}), "=net1"),
      "net1 10.0.0.1, net1 fd00::1, net1 10.0.0.2, net1 10.7.0.3");
}

// Scenario A02, as far as the choice goes; the grammar itself is in ifname_test.cc.
TEST(Interfaces, Named) {
  const Snapshot four = host({kLo, "eth1 up carrier 10.1.0.1/24", "eth10 up carrier 10.10.0.1/24",
                              "ib0 up carrier 10.2.0.1/24"});
  EXPECT_EQ(chosen(four), "ib0 10.2.0.1, eth1 10.1.0.1, eth10 10.10.0.1");
  EXPECT_EQ(named(four, "eth1"), "eth1 10.1.0.1, eth10 10.10.0.1");
  EXPECT_EQ(named(four, "=eth1"), "eth1 10.1.0.1");
  EXPECT_EQ(named(four, "^eth"), "ib0 10.2.0.1");
  EXPECT_EQ(named(four, "^=eth1"), "ib0 10.2.0.1, eth10 10.10.0.1");
  EXPECT_EQ(named(four, "zz,eth10"), "eth10 10.10.0.1");
  EXPECT_EQ(named(four, "=eth1,ib0"), "eth1 10.1.0.1, ib0 10.2.0.1");
  EXPECT_EQ(named(four, "lo"), "lo 127.0.0.1, lo ::1");
  EXPECT_EQ(named(four, "lo,ib"), "ib0 10.2.0.1");
  EXPECT_EQ(named(four, "^eth,ib"), "lo 127.0.0.1, lo ::1");
  EXPECT_EQ(reasons(four, {.ifname = "=eth1"}),
            (std::vector<std::string>{
                "lo (127.0.0.1, ::1): passed over: not named by NCCL_SOCKET_IFNAME",
                "eth1 (10.1.0.1): used",
                "eth10 (10.10.0.1): passed over: not named by NCCL_SOCKET_IFNAME",
                "ib0 (10.2.0.1): passed over: not named by NCCL_SOCKET_IFNAME",
            }));
  EXPECT_EQ(reasons(four, {.ifname = "^eth1"})[1],
            "eth1 (10.1.0.1): passed over: excluded by NCCL_SOCKET_IFNAME");
}

TEST(Interfaces, ContainerBridgesCanBeNamed) {
  const Snapshot docker =
      host({kLo, "docker0 up carrier bridge 172.17.0.1/16", "eth0 up carrier 10.0.0.5/24",
            "br0 up carrier bridge 10.4.0.1/24"});
  EXPECT_EQ(chosen(docker), "eth0 10.0.0.5, br0 10.4.0.1");
  EXPECT_EQ(named(docker, "docker"), "docker0 172.17.0.1");
  EXPECT_EQ(named(docker, "docker,eth"), "docker0 172.17.0.1, eth0 10.0.0.5");
  EXPECT_EQ(named(docker, "^eth"), "br0 10.4.0.1");
  EXPECT_EQ(named(docker, "^eth,br0"), "docker0 172.17.0.1");
}

TEST(Interfaces, OneLetter) {
  const Snapshot a = host({kLo, "a up carrier 10.0.0.7/24", "b up carrier 10.0.1.7/24"});
  EXPECT_EQ(named(a, "a"), "a 10.0.0.7");
  EXPECT_EQ(named(a, "b"), "b 10.0.1.7");
  EXPECT_EQ(named(a, "^a"), "b 10.0.1.7");
}

TEST(Interfaces, NamesThatLeaveNothing) {
  const Snapshot some = host({kLo, "eth0 up carrier 10.0.0.5/24 fe80::5/64", "eth1 10.1.0.5/24",
                              "eth2 up carrier", "eth3"});
  const std::string there =
      "; there are lo (127.0.0.1, ::1), eth0 (10.0.0.5, fe80::5%eth0), eth1 (10.1.0.5, down); "
      "without an address eth2, eth3 (down)";
  const auto fails = [&](const Wishes& wishes, const std::string& text) {
    EXPECT_EQ(code(some, wishes), Code::kInvalidUsage) << wishes.ifname;
    EXPECT_EQ(chosen(some, wishes), text + there);
  };
  fails({.ifname = "nope0"}, "NCCL_SOCKET_IFNAME='nope0' matches no interface");
  fails({.ifname = "="}, "NCCL_SOCKET_IFNAME='=' matches no interface");
  fails({.ifname = "x"}, "NCCL_SOCKET_IFNAME='x' matches no interface");
  fails({.ifname = "^e,l"}, "NCCL_SOCKET_IFNAME='^e,l' excludes every interface");
  fails({.ifname = "eth1,eth2,eth3"},
        "NCCL_SOCKET_IFNAME='eth1,eth2,eth3': none of the interfaces that it matches is up with an "
        "address");
  fails({.ifname = "^lo,eth0"},
        "NCCL_SOCKET_IFNAME='^lo,eth0': none of the interfaces that it leaves is up with an "
        "address");
  fails({.ifname = "eth1,eth2", .family = "AF_INET6"},
        "NCCL_SOCKET_IFNAME='eth1,eth2': none of the interfaces that it matches is up with an "
        "AF_INET6 address");
}

TEST(Interfaces, ErrorsAreBounded) {
  Snapshot large;
  for (uint32_t i = 0; i < 2'000; i++) {
    large.interfaces.push_back(
        interface_of("veth" + std::to_string(i) + (i % 2 == 0 ? " up 10.0.0.1/8" : ""), i + 1));
  }
  const std::string text = named(large, std::string(100'000, 'x'));
  EXPECT_LT(text.size(), 1'500U);
  // A host of a load balancer has its addresses on lo.
  Snapshot virtual_host = host({"lo up carrier loopback"});
  for (int i = 0; i < 3'000; i++) {
    virtual_host.interfaces[0].addresses.push_back({address("10.0.0.1"), 32});
  }
  EXPECT_LT(reasons(virtual_host)[0].size(), 300U);
  EXPECT_NE(text.find("veth30 (10.0.0.1, no carrier) and 984 more; without an address veth1"),
            std::string::npos)
      << text;
}

TEST(Interfaces, NearTheMeetingPlace) {
  const Snapshot many = host({kLo, "ib0 up carrier 10.1.0.1/24", "eth0 up carrier 10.2.0.1/16",
                              "eth1 up carrier 10.2.3.1/24 10.2.3.9/24 fd00::1/64 fe80::1/64",
                              "docker0 up carrier bridge 172.17.0.1/16", "eth2 up 10.3.0.1/24",
                              "eth3 10.4.0.1/24", "eth4 up carrier fe80::4/64"});
  const std::string others =
      "ib0 10.1.0.1, eth0 10.2.0.1, eth1 10.2.3.1, eth1 fd00::1, eth1 10.2.3.9";
  EXPECT_EQ(chosen(many), others);
  EXPECT_EQ(near(many, "10.2.3.7"),
            "eth1 10.2.3.1, eth1 10.2.3.9, eth0 10.2.0.1, ib0 10.1.0.1, eth1 fd00::1");
  EXPECT_EQ(near(many, "10.2.3.9"),
            "eth1 10.2.3.9, eth1 10.2.3.1, eth0 10.2.0.1, ib0 10.1.0.1, eth1 fd00::1");
  EXPECT_EQ(near(many, "fd00::77"),
            "eth1 fd00::1, ib0 10.1.0.1, eth0 10.2.0.1, eth1 10.2.3.1, eth1 10.2.3.9");
  EXPECT_EQ(near(many, "172.17.0.2"), "docker0 172.17.0.1, " + others);
  EXPECT_EQ(near(many, "127.0.0.1"), "lo 127.0.0.1, " + others);
  // Far away, without a carrier, or down: as without it.
  EXPECT_EQ(near(many, "192.0.2.9"), others);
  EXPECT_EQ(near(many, "10.3.0.9"), others);
  EXPECT_EQ(near(many, "10.4.0.9"), others);
  // A link-local address is near on its own interface only.
  SocketAddress local = address("fe80::9");
  local.scope = 8;
  EXPECT_EQ(chosen(many, {.near = local}), "eth4 fe80::4%8, " + others);
  EXPECT_EQ(reasons(many, {.near = address("10.2.3.7").with_port(5)})[3],
            "eth1 (10.2.3.1, 10.2.3.9, fd00::1, fe80::1%eth1): used with 10.2.3.1, 10.2.3.9, "
            "fd00::1, in the subnet of 10.2.3.7");
  // NCCL_SOCKET_IFNAME has the last word.
  EXPECT_EQ(chosen(many, {.ifname = "ib", .near = address("10.2.3.7")}), "ib0 10.1.0.1");
}

TEST(Interfaces, OddPrefixes) {
  EXPECT_EQ(near(host({"eth0 up carrier 10.0.0.1/24", "eth1 up carrier 10.9.0.1/0"}), "10.9.0.2"),
            "eth0 10.0.0.1, eth1 10.9.0.1");
  EXPECT_EQ(
      near(host({"eth0 up carrier 10.0.0.1/24", "tun0 up carrier tunnel 10.9.0.1/32"}), "10.9.0.1"),
      "tun0 10.9.0.1, eth0 10.0.0.1");
  EXPECT_EQ(near(host({"eth0 up carrier 10.0.0.1/24", "eth1 up carrier 10.9.0.2/999"}), "10.9.0.2"),
            "eth1 10.9.0.2, eth0 10.0.0.1");
  EXPECT_EQ(
      near(host({"eth0 up carrier 10.9.0.1/24", "eth1 up carrier 10.9.0.130/25"}), "10.9.0.140"),
      "eth1 10.9.0.130, eth0 10.9.0.1");
}

}  // namespace
}  // namespace accl
