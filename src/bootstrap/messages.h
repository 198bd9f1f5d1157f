// The messages of bootstrap, as values (docs/wire.md). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/socket.h"
#include "src/base/status.h"
#include "src/base/type.h"
#include "src/bootstrap/contact.h"
#include "src/bootstrap/unique_id.h"

namespace accl {

enum class BootstrapKind : uint16_t {
  kHello = 16,  ///< rank -> root
  kAssign,      ///< root -> rank: your parent
  kRefuse,      ///< root -> rank: why there will be no communicator
  kWired,       ///< rank -> root: my connections stand
  kComplete,    ///< root -> rank: everybody's do
  kKin,         ///< child <-> parent: who I am
};

/// Frames of bootstrap are small.
inline constexpr size_t kBootstrapPayloadBytes = 8 * 1024;

/// A service of a rank's process.
struct Address {
  Contact contact;
  uint32_t ticket = 0;
};

struct Hello {
  std::string version;
  Rank rank = 0;
  int32_t ranks = 0;
  uint64_t timeout_ms = 0;
  int32_t pid = 0;
  std::string host;
  Address address;
};

struct Kin {
  Rank rank = 0;
  int32_t pid = 0;
  std::string host;
};

Packet packet_of(const Hello& hello);
Packet packet_of(const Kin& kin);
Packet packet_of_assign(const Address& parent);
Packet packet_of_refuse(const Status& why);
Packet packet_of(BootstrapKind kind);

/// None if the payload is not of that shape.
std::optional<Hello> hello_of(const Frame& frame);
std::optional<Kin> kin_of(const Frame& frame);
std::optional<Address> assign_of(const Frame& frame);
/// The error that a kRefuse frame carries.
Status refusal_of(const Frame& frame);

/// "rank 3 (pid 77 on host name)".
std::string describe_process(Rank rank, int pid, const std::string& host);
/// "300 s", "1500 ms".
std::string describe_ms(uint64_t time_ms);

}  // namespace accl
