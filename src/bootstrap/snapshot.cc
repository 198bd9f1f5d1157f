#include "src/bootstrap/snapshot.h"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "src/base/fd.h"

namespace accl {
namespace {

/// IFF_LOWER_UP, whose header cannot stand next to <net/if.h>. Unlike IFF_RUNNING it follows the
/// carrier at once; some sandboxes show only one of the two.
constexpr unsigned kLowerUp = 1U << 16;

bool has(const ifaddrs& entry, unsigned flag) { return (entry.ifa_flags & flag) != 0; }

int prefix_bits_of(const sockaddr* mask) {
  const std::optional<SocketAddress> bits = address_of(mask);
  if (!bits) return 0;
  int count = 0;
  for (const std::byte byte : bits->bytes) count += std::popcount(std::to_integer<unsigned>(byte));
  return count;
}

/// Asks the driver of an interface, in the network namespace of `socket` (which /sys need not
/// show). `request` begins with its command.
template <class Request>
bool ask_driver(const Fd& socket, const std::string& interface, Request* request) {
  ifreq call{};
  if (interface.size() >= sizeof call.ifr_name) return false;
  std::memcpy(call.ifr_name, interface.data(), interface.size());
  call.ifr_data = reinterpret_cast<char*>(request);
  return ioctl(socket.get(), SIOCETHTOOL, &call) == 0;
}

bool is_bridge(const Fd& socket, const std::string& interface) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (!ask_driver(socket, interface, &info)) return false;
  return std::string_view(info.driver, strnlen(info.driver, sizeof info.driver)) == "bridge";
}

int64_t speed_mbps_of(const Fd& socket, const std::string& interface) {
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  if (!ask_driver(socket, interface, &settings)) return 0;
  const uint32_t speed = uint32_t{settings.speed_hi} << 16 | settings.speed;
  return speed == UINT32_MAX || speed == UINT16_MAX ? 0 : speed;
}

/// The interface that an entry is about. Old aliases have entries of their own, "eth0:1".
Interface& interface_of(const ifaddrs& entry, Snapshot* snapshot) {
  std::string name = entry.ifa_name;
  name.resize(std::min(name.size(), name.find(':')));
  auto& all = snapshot->interfaces;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Interface& i) { return i.name == name; });
  if (found != all.end()) return *found;
  Interface added;
  added.name = name;
  added.index = if_nametoindex(name.c_str());
  added.up = has(entry, IFF_UP);
  added.carrier = has(entry, IFF_RUNNING) || has(entry, kLowerUp);
  added.loopback = has(entry, IFF_LOOPBACK);
  added.point_to_point = has(entry, IFF_POINTOPOINT);
  return all.emplace_back(std::move(added));
}

}  // namespace

Result<Snapshot> take_snapshot() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return system_error(std::string("the network interfaces cannot be listed: ") + strerror(errno));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  Snapshot snapshot;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    Interface& interface = interface_of(*entry, &snapshot);
    const std::optional<SocketAddress> address = address_of(entry->ifa_addr);
    if (!address || address->is_any()) continue;
    interface.addresses.push_back({*address, prefix_bits_of(entry->ifa_netmask)});
  }
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (Interface& interface : snapshot.interfaces) {
    interface.bridge = is_bridge(socket, interface.name);
    interface.speed_mbps = speed_mbps_of(socket, interface.name);
  }
  return snapshot;
}

}  // namespace accl
