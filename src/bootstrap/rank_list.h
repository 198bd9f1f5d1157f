// How texts name ranks: "rank 5", "ranks 3, 5-7".
#pragma once

#include <string>
#include <vector>

#include "src/base/type.h"

namespace accl {

/// `ranks` in rising order. At most 16 runs are shown, then "...". Any thread.
std::string describe_ranks(const std::vector<Rank>& ranks);

}  // namespace accl
