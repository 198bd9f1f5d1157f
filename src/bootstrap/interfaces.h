// Which addresses of this host a process listens on and tells its peers.
//
// A pure function over a snapshot of the interfaces and what the user wishes. Nothing is tried out
// here: whoever connects tries the addresses in the order given. Values; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/address.h"
#include "src/base/status.h"
#include "src/bootstrap/snapshot.h"

namespace accl {

struct Wishes {
  std::string ifname;  ///< NCCL_SOCKET_IFNAME (ifname.h); empty: not set
  std::string family;  ///< NCCL_SOCKET_FAMILY: AF_INET or AF_INET6, in any case; empty: either
  /// Where the job meets (NCCL_COMM_ID): interfaces in its subnet come first.
  std::optional<SocketAddress> near;
};

struct Candidate {
  std::string interface;
  SocketAddress address;  ///< without a port; link-local IPv6 with its scope

  bool operator==(const Candidate&) const = default;
};

struct InterfaceChoice {
  /// At least one; the best first. An interface with several addresses appears several times, with
  /// the first of each family before the others.
  std::vector<Candidate> candidates;
  /// One line per interface of the snapshot, in its order: what became of it and why.
  std::vector<std::string> reasons;
};

/// Chooses, from the interfaces that are up, all those of the best kind that there is:
///
///   1. the subnet of `near`, the narrowest first; 2 is used as well
///   2. names that begin with "ib", then others, then bridges and tunnels
///   3. addresses of the loopback interface that others can route to
///   4. link-local addresses
///   5. bridges of containers and virtual machines (docker*, br-*, virbr*)
///   6. loopback addresses
///   7. interfaces without a carrier
///
/// Within a kind, the order of the snapshot. Interfaces that NCCL_SOCKET_IFNAME asks for by name
/// are all alike in 2 and 5: the order of the snapshot decides, as in NCCL.
///
/// invalid_usage: a family that does not exist, or a wish that leaves nothing (the text has the
/// variable, its value and the interfaces that there are). system_error: nothing is there even
/// without wishes.
Result<InterfaceChoice> choose_interfaces(const Snapshot& snapshot, const Wishes& wishes);

}  // namespace accl
