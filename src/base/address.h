// Addresses of TCP sockets: IPv4, and IPv6 with its scope. Values.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace accl {

/// An address with a port. The default is no address at all.
struct SocketAddress {
  int family = AF_UNSPEC;             ///< AF_INET or AF_INET6
  std::array<std::byte, 16> bytes{};  ///< network order; IPv4 takes the first four
  uint32_t scope = 0;                 ///< interface of a link-local IPv6 address, on this host
  uint16_t port = 0;

  bool operator==(const SocketAddress&) const = default;
  explicit operator bool() const { return family != AF_UNSPEC; }

  bool is_loopback() const;
  bool is_link_local() const;
  bool is_any() const;
  SocketAddress with_port(uint16_t other) const;
};

/// What the socket calls take and give.
struct NativeAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
NativeAddress native(const SocketAddress& address);
/// None if it is of another family.
std::optional<SocketAddress> address_of(const sockaddr* native);
/// The two ends of a connected socket; none if the system does not say.
std::optional<SocketAddress> local_address(int fd);
std::optional<SocketAddress> peer_address(int fd);

/// "10.0.0.1:42000", "[fe80::1%eth0]:42000"; without the port if it is 0.
std::string describe(const SocketAddress& address);

/// An IPv4 or IPv6 address in numbers, the latter with or without "%interface"; no name is looked
/// up. invalid_argument says what is wrong with it.
Result<SocketAddress> parse_address(std::string_view text);

}  // namespace accl
