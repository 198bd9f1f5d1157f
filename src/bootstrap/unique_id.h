// The unique id of a communicator to be: 128 bytes that one process makes and all ranks are given.
//
// It holds where to meet (the door of the process that made it, today an abstract unix socket) and
// the secret that every connection must prove to know. The layout is in docs/wire.md. A value; any
// thread. Whoever may read the id may join, so it is never logged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "src/base/status.h"

namespace accl {

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
  static constexpr uint32_t kVersion = 1;

  /// A new id with a fresh secret; `door` is where to meet.
  static Result<UniqueId> create(const Nonce& door);
  /// Checks the 128 bytes that a user passes; invalid_argument with what is wrong with them.
  static Result<UniqueId> parse(std::span<const std::byte> bytes);

  const std::array<std::byte, kBytes>& bytes() const { return bytes_; }
  Secret secret() const;
  Nonce door() const;
  /// "pid 123 on host name": the process that made it.
  std::string origin() const;

 private:
  std::array<std::byte, kBytes> bytes_{};
};

/// The name of this host, at most 64 characters, as texts show it.
std::string host_name();

}  // namespace accl
