// `accl_info plan`: the program of a collective, as text or JSON.
//
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/base/type.h"

namespace accl {

/// The arguments of the command as the user wrote them.
struct PlanRequest {
  std::string collective = "";
  int ranks = 0;
  int cores = 0;               ///< that the ranks share; 0: one for each
  std::string bytes = "1M";    ///< the vector, or one rank's block
  std::string algorithm = "";  ///< empty: what the tuner chooses
  std::string rank = "all";
  int root = 0;
  int groups = 0;
  bool json = false;
};

/// What the command prints. Fails with kInvalidArgument and a text for the user.
Result<std::string> plan_command(const PlanRequest& request);

/// "8", "64K", "1M", "2GiB": a whole number of bytes, binary units; none if it is not one.
std::optional<size_t> parse_bytes(std::string_view text);
/// "AllReduce", "all_reduce", "allreduce", ...; none if it is no collective with a program.
std::optional<Collective> collective_named(std::string_view name);

}  // namespace accl
