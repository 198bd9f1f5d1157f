#include "src/base/address.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace accl {
namespace {

uint8_t byte_at(const SocketAddress& address, size_t i) {
  return std::to_integer<uint8_t>(address.bytes[i]);
}

/// The number of an interface given by name or as a number; 0: there is none.
uint32_t scope_named(const std::string& name) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) return number;
  return if_nametoindex(name.c_str());
}

}  // namespace

bool SocketAddress::is_loopback() const {
  if (family == AF_INET) return byte_at(*this, 0) == 127;
  return family == AF_INET6 && byte_at(*this, 15) == 1 &&
         std::all_of(bytes.begin(), bytes.begin() + 15,
                     [](std::byte b) { return b == std::byte{}; });
}

bool SocketAddress::is_link_local() const {
  if (family == AF_INET) return byte_at(*this, 0) == 169 && byte_at(*this, 1) == 254;
  return family == AF_INET6 && byte_at(*this, 0) == 0xfe && (byte_at(*this, 1) & 0xc0) == 0x80;
}

bool SocketAddress::is_any() const {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; });
}

SocketAddress SocketAddress::with_port(uint16_t other) const {
  SocketAddress copy = *this;
  copy.port = other;
  return copy;
}

NativeAddress native(const SocketAddress& address) {
  NativeAddress result;
  if (address.family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::memcpy(&in.sin_addr, address.bytes.data(), sizeof in.sin_addr);
    std::memcpy(&result.storage, &in, sizeof in);
    result.length = sizeof in;
  } else if (address.family == AF_INET6) {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(address.port);
    in6.sin6_scope_id = address.scope;
    std::memcpy(&in6.sin6_addr, address.bytes.data(), sizeof in6.sin6_addr);
    std::memcpy(&result.storage, &in6, sizeof in6);
    result.length = sizeof in6;
  }
  return result;
}

std::optional<SocketAddress> address_of(const sockaddr* native) {
  if (native == nullptr) return std::nullopt;
  SocketAddress address;
  address.family = native->sa_family;
  if (native->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, native, sizeof in);
    std::memcpy(address.bytes.data(), &in.sin_addr, sizeof in.sin_addr);
    address.port = ntohs(in.sin_port);
    return address;
  }
  if (native->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in6{};
  std::memcpy(&in6, native, sizeof in6);
  std::memcpy(address.bytes.data(), &in6.sin6_addr, sizeof in6.sin6_addr);
  address.port = ntohs(in6.sin6_port);
  address.scope = in6.sin6_scope_id;
  return address;
}

std::optional<SocketAddress> local_address(int fd) {
  NativeAddress address;
  address.length = sizeof address.storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) {
    return std::nullopt;
  }
  return address_of(address.get());
}

std::optional<SocketAddress> peer_address(int fd) {
  NativeAddress address;
  address.length = sizeof address.storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) {
    return std::nullopt;
  }
  return address_of(address.get());
}

std::string describe(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (!address ||
      inet_ntop(address.family, address.bytes.data(), text.data(), text.size()) == nullptr) {
    return "no address";
  }
  std::string host = text.data();
  if (address.scope != 0) {
    std::array<char, IF_NAMESIZE> name{};
    const bool known = if_indextoname(address.scope, name.data()) != nullptr;
    host += "%" + (known ? std::string(name.data()) : std::to_string(address.scope));
  }
  if (address.port == 0) return host;
  if (address.family == AF_INET6) host = "[" + host + "]";
  return host + ":" + std::to_string(address.port);
}

Result<SocketAddress> parse_address(std::string_view text) {
  SocketAddress address;
  const size_t percent = text.find('%');
  const std::string host(text.substr(0, percent));
  if (inet_pton(AF_INET, host.c_str(), address.bytes.data()) == 1) {
    address.family = AF_INET;
  } else if (inet_pton(AF_INET6, host.c_str(), address.bytes.data()) == 1) {
    address.family = AF_INET6;
  } else {
    return invalid_argument("'" + std::string(text) + "' is not an IPv4 or IPv6 address");
  }
  if (percent == std::string_view::npos) return address;
  const std::string scope(text.substr(percent + 1));
  if (address.family == AF_INET) {
    return invalid_argument("'" + std::string(text) + "': only IPv6 addresses have an interface");
  }
  address.scope = scope_named(scope);
  if (address.scope == 0) {
    return invalid_argument("'" + std::string(text) + "': there is no interface '" + scope + "'");
  }
  return address;
}

}  // namespace accl
