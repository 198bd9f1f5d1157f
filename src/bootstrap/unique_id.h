// The unique id of a communicator to be: 128 bytes that one process makes and all ranks are given.
//
// It holds where to meet (the contact of the process that made it) and the secret that every
// connection must prove to know. The layout is in docs/wire.md. A value; any thread. Whoever may
// read the id may join, so it is never logged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "src/base/status.h"

namespace accl {

struct Contact;

using Secret = std::array<std::byte, 16>;
using Nonce = std::array<std::byte, 16>;
/// Names a secret in public: a hash of it.
using KeyId = std::array<std::byte, 16>;

/// 16 random bytes; system_error if the system has no randomness.
Result<Secret> random_secret();
KeyId key_id_of(const Secret& secret);
/// The abstract socket's name of a door: "accl-" and 32 hexadecimal digits.
std::string door_name(const Nonce& door);

class UniqueId {
 public:
  static constexpr size_t kBytes = 128;  ///< NCCL_UNIQUE_ID_BYTES
  static constexpr uint32_t kVersion = 2;

  /// A new id with a fresh secret; `where` is where to meet. Addresses that there is no room for
  /// are left out (four of IPv4, or one of each family, have room).
  static Result<UniqueId> create(const Contact& where);
  /// The id that every process makes of the same address (NCCL_COMM_ID) and secret.
  static UniqueId fixed(const Contact& where, const Secret& secret);
  /// Checks the 128 bytes that a user passes; invalid_argument with what is wrong with them.
  static Result<UniqueId> parse(std::span<const std::byte> bytes);

  const std::array<std::byte, kBytes>& bytes() const { return bytes_; }
  Secret secret() const;
  Contact contact() const;
  /// True if made by fixed(): rank 0 serves it, and it may be used again and again.
  bool is_fixed() const;
  /// "pid 123 on host name": the process that made it.
  std::string origin() const;

 private:
  static UniqueId made(const Contact& where, const Secret& secret, uint32_t flags, uint32_t pid,
                       const std::string& host);

  std::array<std::byte, kBytes> bytes_{};
};

/// The name of this host, at most 64 characters, as texts show it.
std::string host_name();

}  // namespace accl
