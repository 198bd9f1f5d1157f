// Names that are accepted and do nothing: known to NCCL or to what surrounds it, so that a job
// script written for NCCL runs without warnings. Constants; any thread.
#pragma once

#include <span>
#include <string_view>

namespace accl {

/// Names that share a reason.
struct AcceptedNames {
  std::string_view reason;
  std::span<const std::string_view>
      names;  ///< a name that ends in '*' stands for all that begin so
};

/// All of them, by reason.
std::span<const AcceptedNames> accepted_names();

/// True if `name` is one of them.
bool is_accepted(std::string_view name);

}  // namespace accl
