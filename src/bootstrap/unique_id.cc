#include "src/bootstrap/unique_id.h"

#include <sodium.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace accl {
namespace {

constexpr std::string_view kMagic = "ACCL-UID";
constexpr size_t kVersionAt = 8;
constexpr size_t kSecretAt = 16;
constexpr size_t kDoorAt = 32;
constexpr size_t kPidAt = 48;
constexpr size_t kHostAt = 52;
constexpr size_t kHostBytes = 28;
constexpr size_t kChecksumAt = 120;

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

Result<UniqueId> UniqueId::create(const Nonce& door) {
  const Secret secret = ACCL_TRY(random_secret());
  const std::string host = host_name();
  const uint32_t version = kVersion;
  const auto pid = static_cast<uint32_t>(getpid());
  UniqueId id;
  std::byte* at = id.bytes_.data();
  std::memcpy(at, kMagic.data(), kMagic.size());
  std::memcpy(at + kVersionAt, &version, sizeof(version));
  std::memcpy(at + kSecretAt, secret.data(), secret.size());
  std::memcpy(at + kDoorAt, door.data(), door.size());
  std::memcpy(at + kPidAt, &pid, sizeof(pid));
  std::memcpy(at + kHostAt, host.data(), std::min(host.size(), kHostBytes));
  const auto sum = checksum(id.bytes_);
  std::memcpy(at + kChecksumAt, sum.data(), sum.size());
  return id;
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

Nonce UniqueId::door() const { return part<Nonce>(bytes_, kDoorAt); }

std::string UniqueId::origin() const {
  uint32_t pid = 0;
  std::memcpy(&pid, bytes_.data() + kPidAt, sizeof(pid));
  const auto* host = reinterpret_cast<const char*>(bytes_.data() + kHostAt);
  return "pid " + std::to_string(pid) + " on host " + std::string(host, strnlen(host, kHostBytes));
}

}  // namespace accl
