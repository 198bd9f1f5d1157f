// How a process is reached: by the abstract unix socket of its door within one network namespace,
// by TCP from elsewhere. A value; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/address.h"
#include "src/bootstrap/unique_id.h"
#include "src/bootstrap/wire.h"

namespace accl {

struct Contact {
  static constexpr size_t kMaxAddresses = 4;

  Nonce door{};
  uint64_t network = 0;  ///< network_tag() there; 0: none, it is reached by TCP alone
  std::vector<SocketAddress> addresses;  ///< with ports, the best one first

  bool operator==(const Contact&) const = default;
};

/// Names this machine, as long as it runs: a hash of its boot id.
uint64_t machine_tag();
/// Names the network namespace that this process is in, among all machines. Never 0.
uint64_t network_tag();
/// "10.0.0.1:42000, [2001:db8::1]:42000", or how else it is reached.
std::string describe(const Contact& contact);

void write_contact(WireWriter* writer, const Contact& contact);
/// Broken bytes give a Contact without addresses and a reader that is not ok().
Contact read_contact(WireReader* reader);

}  // namespace accl
