// The network interfaces of this process's network namespace, as they were at one moment.
//
// Values; take_snapshot() asks the system, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/address.h"
#include "src/base/status.h"

namespace accl {

struct InterfaceAddress {
  SocketAddress address;  ///< without a port; link-local IPv6 with its scope
  int prefix_bits = 0;    ///< of the network it is in; 0 if not known
};

struct Interface {
  std::string name;
  uint32_t index = 0;
  bool up = false;       ///< by its administrator
  bool carrier = false;  ///< something is at the other end
  bool loopback = false;
  bool bridge = false;
  bool point_to_point = false;  ///< tun and the like
  int64_t speed_mbps = 0;       ///< 0 if not known
  std::vector<InterfaceAddress> addresses;
};

struct Snapshot {
  std::vector<Interface> interfaces;  ///< in the order of getifaddrs(), which is that of creation
};

/// What the system has now. What it will not say (a sandbox may have no ethtool) stays unknown;
/// system_error if it does not list its interfaces at all.
Result<Snapshot> take_snapshot();

}  // namespace accl
