// TCP sockets: listening, connecting, and the options that every connection gets. No call blocks.
// Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/address.h"
#include "src/base/fd.h"
#include "src/base/status.h"

namespace accl {

/// Ports to listen on; {0, 0}: whichever the system gives.
struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;
  bool any() const { return first == 0; }
};

/// A listening socket on a port of the range at `at`'s address (its port is not looked at); IPv6 is
/// for IPv6 alone. system_error names the range if all its ports are taken, else the address.
Result<Fd> listen_tcp(const SocketAddress& at, PortRange ports);
/// Starts to connect: writable when it is decided, see connect_result(). remote_error if the system
/// knows at once that it cannot be.
Result<Fd> connect_tcp(const SocketAddress& to);
/// How an attempt has ended: remote_error with address and cause.
Status connect_result(int fd, const SocketAddress& to);

/// What every connection gets: no delay of small packets, and probes that find out within two
/// minutes that an idle peer is gone.
void tune_tcp(int fd);
/// True for a TCP socket (and not a unix one).
bool is_tcp(int fd);

}  // namespace accl
