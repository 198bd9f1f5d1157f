// The snapshot of the system's interfaces, compared with what `ip` made.
#include "src/bootstrap/snapshot.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include "src/bootstrap/interfaces.h"
#include "tests/support/situation.h"

namespace accl {
namespace {

/// Runs `ip` once for each line; false if one fails.
bool ip(std::initializer_list<const char*> lines) {
  return std::all_of(lines.begin(), lines.end(), [](const char* line) {
    return std::system(("ip " + std::string(line)).c_str()) == 0;
  });
}

const Interface* find(const Snapshot& snapshot, std::string_view name) {
  for (const Interface& interface : snapshot.interfaces) {
    if (interface.name == name) return &interface;
  }
  ADD_FAILURE() << "there is no " << name;
  return nullptr;
}

/// "10.0.0.5/24 fe80::5%3/64": with the number of the interface as the scope.
std::string addresses_of(const Interface& interface) {
  std::string text;
  for (const InterfaceAddress& ours : interface.addresses) {
    SocketAddress bare = ours.address;
    bare.scope = 0;
    text += (text.empty() ? "" : " ") + describe(bare);
    if (ours.address.scope != 0) text += "%" + std::to_string(ours.address.scope);
    text += "/" + std::to_string(ours.prefix_bits);
  }
  return text;
}

/// One interface in one line, "up carrier veth0 10.0.0.5/24".
std::string seen(const Snapshot& snapshot, std::string_view name) {
  const Interface* interface = find(snapshot, name);
  if (interface == nullptr) return "";
  std::string text;
  if (interface->up) text += "up ";
  if (interface->carrier) text += "carrier ";
  if (interface->loopback) text += "loopback ";
  if (interface->bridge) text += "bridge ";
  if (interface->point_to_point) text += "tunnel ";
  return text + addresses_of(*interface);
}

/// Runs `body` in a process with a network of its own. Its expectations are printed there.
template <class Body>
void in_a_network(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    if (!own_network()) _exit(kNotPossibleHere);
    const bool possible = body();
    fflush(stdout);
    _exit(testing::Test::HasFailure() ? 1 : (possible ? 0 : kNotPossibleHere));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotPossibleHere)
    GTEST_SKIP() << "no network namespace here, or no ip";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Snapshot, OfThisHost) {
  auto snapshot = take_snapshot();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().text();
  for (const Interface& interface : snapshot->interfaces) {
    EXPECT_FALSE(interface.name.empty());
    EXPECT_GT(interface.index, 0U) << interface.name;
    EXPECT_GE(interface.speed_mbps, 0) << interface.name;
    for (const InterfaceAddress& ours : interface.addresses) {
      EXPECT_TRUE(ours.address.family == AF_INET || ours.address.family == AF_INET6);
      EXPECT_EQ(ours.address.port, 0);
      EXPECT_LE(ours.prefix_bits, ours.address.family == AF_INET ? 32 : 128);
    }
  }
}

// Scenario A06.
TEST(Snapshot, NothingIsUp) {
  in_a_network([] {
    auto snapshot = take_snapshot();
    EXPECT_TRUE(snapshot.ok());
    if (!snapshot.ok()) return true;
    EXPECT_EQ(snapshot->interfaces.size(), 1U);
    EXPECT_EQ(seen(*snapshot, "lo"), "loopback ");
    auto choice = choose_interfaces(*snapshot, {});
    EXPECT_FALSE(choice.ok());
    if (choice.ok()) return true;
    EXPECT_EQ(choice.status().code(), Code::kSystem);
    EXPECT_EQ(choice.status().text(),
              "no interface with an address is up; without an address there are lo (down)");
    return true;
  });
}

// Scenario A04 with fewer: a veth whose other end is down, a bridge with a port of that kind, a
// bridge that is down, and one that is good. (A bridge that never had a port has a carrier.)
TEST(Snapshot, OfWhatIpMade) {
  in_a_network([] {
    if (!ip({"link set lo up", "link add veth0 type veth peer name veth1", "link set veth0 up",
             "addr add 10.9.0.1/24 dev veth0", "link add docker0 type bridge",
             "link add port0 type veth peer name port1", "link set port0 master docker0 up",
             "link set docker0 up", "addr add 172.17.0.1/16 dev docker0",
             "link add virbr0 type bridge", "addr add 192.168.122.1/24 dev virbr0",
             "link add net1 type veth peer name net2", "link set net1 up", "link set net2 up",
             "addr add 10.0.0.5/24 dev net1", "addr add 10.0.7.5/28 dev net1 label net1:1",
             "-6 addr add fd00::5/64 dev net1 nodad", "-6 addr add fe80::5/64 dev net1 nodad"})) {
      return false;
    }
    auto snapshot = take_snapshot();
    EXPECT_TRUE(snapshot.ok());
    if (!snapshot.ok()) return true;
    EXPECT_EQ(seen(*snapshot, "lo"), "up carrier loopback 127.0.0.1/8 ::1/128");
    EXPECT_EQ(seen(*snapshot, "veth0"), "up 10.9.0.1/24");
    EXPECT_EQ(seen(*snapshot, "veth1"), "");
    EXPECT_EQ(seen(*snapshot, "docker0"), "up bridge 172.17.0.1/16");
    EXPECT_EQ(seen(*snapshot, "virbr0"), "bridge 192.168.122.1/24");
    const Interface* net1 = find(*snapshot, "net1");
    if (net1 == nullptr) return true;
    EXPECT_EQ(net1->index, if_nametoindex("net1"));
    EXPECT_EQ(net1->speed_mbps, 10'000);  // what every veth says
    const std::string all = seen(*snapshot, "net1");
    EXPECT_TRUE(all.starts_with("up carrier 10.0.0.5/24 10.0.7.5/28 ")) << all;
    EXPECT_NE(all.find("fd00::5/64"), std::string::npos) << all;
    EXPECT_NE(all.find("fe80::5%" + std::to_string(net1->index) + "/64"), std::string::npos) << all;

    auto choice = choose_interfaces(*snapshot, {});
    EXPECT_TRUE(choice.ok());
    if (!choice.ok()) return true;
    EXPECT_EQ(choice->candidates.front().interface, "net1");
    EXPECT_EQ(describe(choice->candidates.front().address), "10.0.0.5");
    EXPECT_EQ(choice->candidates.size(), 3U);
    return true;
  });
}

TEST(Snapshot, OfATunnel) {
  in_a_network([] {
    if (!ip({"tuntap add tun0 mode tun", "link set tun0 up",
             "addr add 10.5.0.1 peer 10.5.0.2 dev tun0"})) {
      return false;
    }
    auto snapshot = take_snapshot();
    EXPECT_TRUE(snapshot.ok());
    if (snapshot.ok()) {
      EXPECT_EQ(seen(*snapshot, "tun0"), "up tunnel 10.5.0.1/32");
    }
    return true;
  });
}

}  // namespace
}  // namespace accl
