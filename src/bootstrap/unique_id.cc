#include "src/bootstrap/unique_id.h"

#include <sodium.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "src/bootstrap/contact.h"

namespace accl {
namespace {

constexpr std::string_view kMagic = "ACCL-UID";
constexpr size_t kVersionAt = 8;
constexpr size_t kFlagsAt = 12;
constexpr size_t kSecretAt = 16;
constexpr size_t kDoorAt = 32;
constexpr size_t kPidAt = 48;
constexpr size_t kHostAt = 52;
constexpr size_t kHostBytes = 28;
constexpr size_t kNetworkAt = 80;
constexpr size_t kAddressesAt = 88;
constexpr size_t kChecksumAt = 120;
constexpr uint32_t kFixedFlag = 1;

std::array<std::byte, 8> checksum(const std::array<std::byte, UniqueId::kBytes>& bytes) {
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     kChecksumAt, nullptr, 0);
  std::array<std::byte, 8> first{};
  std::memcpy(first.data(), hash.data(), first.size());
  return first;
}

template <class Array>
Array part(const std::array<std::byte, UniqueId::kBytes>& bytes, size_t at) {
  Array value{};
  std::memcpy(value.data(), bytes.data() + at, value.size());
  return value;
}

// Addresses lie one after the other: 4 or 6, port, bytes. A zero ends the list.
void put_addresses(std::byte* at, const std::vector<SocketAddress>& addresses) {
  std::byte* const end = at + (kChecksumAt - kAddressesAt);
  for (const SocketAddress& address : addresses) {
    const size_t bytes = address.family == AF_INET ? 4 : 16;
    if (at + 3 + bytes > end) continue;
    at[0] = static_cast<std::byte>(address.family == AF_INET ? 4 : 6);
    std::memcpy(at + 1, &address.port, 2);
    std::memcpy(at + 3, address.bytes.data(), bytes);
    at += 3 + bytes;
  }
}

std::vector<SocketAddress> get_addresses(const std::byte* at) {
  std::vector<SocketAddress> addresses;
  const std::byte* const end = at + (kChecksumAt - kAddressesAt);
  while (at + 7 <= end && (at[0] == std::byte{4} || at[0] == std::byte{6})) {
    SocketAddress address;
    address.family = at[0] == std::byte{4} ? AF_INET : AF_INET6;
    const size_t bytes = address.family == AF_INET ? 4 : 16;
    if (at + 3 + bytes > end) break;
    std::memcpy(&address.port, at + 1, 2);
    std::memcpy(address.bytes.data(), at + 3, bytes);
    addresses.push_back(address);
    at += 3 + bytes;
  }
  return addresses;
}

}  // namespace

Result<Secret> random_secret() {
  Secret secret{};
  size_t have = 0;
  while (have < secret.size()) {
    const ssize_t got = getrandom(secret.data() + have, secret.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(std::string("no random bytes: ") + strerror(errno));
    have += static_cast<size_t>(got);
  }
  return secret;
}

KeyId key_id_of(const Secret& secret) {
  constexpr std::string_view label = "accl key id";
  KeyId key{};
  crypto_generichash(reinterpret_cast<unsigned char*>(key.data()), key.size(),
                     reinterpret_cast<const unsigned char*>(label.data()), label.size(),
                     reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
  return key;
}

std::string door_name(const Nonce& door) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name = "accl-";
  for (const std::byte byte : door) {
    const auto value = std::to_integer<size_t>(byte);
    name += digits[value >> 4];
    name += digits[value & 15];
  }
  return name;
}

std::string host_name() {
  std::array<char, 65> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

UniqueId UniqueId::made(const Contact& where, const Secret& secret, uint32_t flags, uint32_t pid,
                        const std::string& host) {
  const uint32_t version = kVersion;
  UniqueId id;
  std::byte* at = id.bytes_.data();
  std::memcpy(at, kMagic.data(), kMagic.size());
  std::memcpy(at + kVersionAt, &version, sizeof(version));
  std::memcpy(at + kFlagsAt, &flags, sizeof(flags));
  std::memcpy(at + kSecretAt, secret.data(), secret.size());
  std::memcpy(at + kDoorAt, where.door.data(), where.door.size());
  std::memcpy(at + kPidAt, &pid, sizeof(pid));
  std::memcpy(at + kHostAt, host.data(), std::min(host.size(), kHostBytes));
  std::memcpy(at + kNetworkAt, &where.network, sizeof(where.network));
  put_addresses(at + kAddressesAt, where.addresses);
  const auto sum = checksum(id.bytes_);
  std::memcpy(at + kChecksumAt, sum.data(), sum.size());
  return id;
}

Result<UniqueId> UniqueId::create(const Contact& where) {
  const Secret secret = ACCL_TRY(random_secret());
  return made(where, secret, 0, static_cast<uint32_t>(getpid()), host_name());
}

UniqueId UniqueId::fixed(const Contact& where, const Secret& secret) {
  return made(where, secret, kFixedFlag, 0, {});
}

Result<UniqueId> UniqueId::parse(std::span<const std::byte> bytes) {
  if (bytes.size() != kBytes) {
    return invalid_argument("a unique id has " + std::to_string(kBytes) + " bytes, not " +
                            std::to_string(bytes.size()));
  }
  if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return invalid_argument(
        "the unique id is all zeros: it never reached this rank from the one that made it");
  }
  UniqueId id;
  std::copy(bytes.begin(), bytes.end(), id.bytes_.begin());
  if (std::memcmp(id.bytes_.data(), kMagic.data(), kMagic.size()) != 0) {
    return invalid_argument("the unique id was not made by ncclGetUniqueId of this library");
  }
  uint32_t version = 0;
  std::memcpy(&version, id.bytes_.data() + kVersionAt, sizeof(version));
  if (version != kVersion) {
    return invalid_argument("the unique id has format " + std::to_string(version) +
                            ", this library has format " + std::to_string(kVersion) +
                            ": it was made by another version");
  }
  if (checksum(id.bytes_) != part<std::array<std::byte, 8>>(id.bytes_, kChecksumAt)) {
    return invalid_argument("the unique id is damaged: it changed on its way to this rank");
  }
  return id;
}

Secret UniqueId::secret() const { return part<Secret>(bytes_, kSecretAt); }

Contact UniqueId::contact() const {
  Contact contact;
  contact.door = part<Nonce>(bytes_, kDoorAt);
  std::memcpy(&contact.network, bytes_.data() + kNetworkAt, sizeof(contact.network));
  contact.addresses = get_addresses(bytes_.data() + kAddressesAt);
  return contact;
}

bool UniqueId::is_fixed() const {
  uint32_t flags = 0;
  std::memcpy(&flags, bytes_.data() + kFlagsAt, sizeof(flags));
  return (flags & kFixedFlag) != 0;
}

std::string UniqueId::origin() const {
  if (is_fixed()) return "rank 0 at " + describe(contact());
  uint32_t pid = 0;
  std::memcpy(&pid, bytes_.data() + kPidAt, sizeof(pid));
  const auto* host = reinterpret_cast<const char*>(bytes_.data() + kHostAt);
  return "pid " + std::to_string(pid) + " on host " + std::string(host, strnlen(host, kHostBytes));
}

}  // namespace accl
