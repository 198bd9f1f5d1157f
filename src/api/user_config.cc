#include "src/api/user_config.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace accl {
namespace {

constexpr unsigned kMagic = 0xcafebeef;
constexpr size_t kSmallest = 24;  // NCCL 2.14
constexpr size_t kLargest = 96;   // NCCL 2.30
constexpr int kUndefined = NCCL_CONFIG_UNDEF_INT;

// Fields are read where they lie in the user's struct, if his header had them: padding of older
// versions became fields of newer ones, so the size alone does not tell.
class Fields {
 public:
  explicit Fields(const ncclConfig_t& config)
      : bytes_(reinterpret_cast<const char*>(&config)),
        size_(config.size),
        version_(static_cast<int>(config.version)) {}

  int integer(size_t offset, int since) const {
    int value = kUndefined;
    if (has(offset, sizeof value, since)) std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  const char* text(size_t offset, int since) const {
    const char* value = nullptr;
    if (has(offset, sizeof value, since)) std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }

 private:
  bool has(size_t offset, size_t bytes, int since) const {
    return offset + bytes <= size_ && version_ >= since;
  }
  const char* bytes_;
  size_t size_;
  int version_;
};

// What a field may be.
struct Rule {
  const char* name;
  size_t offset;
  int since;
  int least;
  int most;
};
constexpr int kAny = 0x7fffffff;
constexpr Rule kRules[] = {
    {"blocking", offsetof(ncclConfig_t, blocking), NCCL_VERSION(2, 14, 0), 0, 1},
    {"cgaClusterSize", offsetof(ncclConfig_t, cgaClusterSize), NCCL_VERSION(2, 17, 0), 0, kAny},
    {"minCTAs", offsetof(ncclConfig_t, minCTAs), NCCL_VERSION(2, 17, 0), 1, kAny},
    {"maxCTAs", offsetof(ncclConfig_t, maxCTAs), NCCL_VERSION(2, 17, 0), 1, kAny},
    {"splitShare", offsetof(ncclConfig_t, splitShare), NCCL_VERSION(2, 18, 0), 0, 1},
    {"collnetEnable", offsetof(ncclConfig_t, collnetEnable), NCCL_VERSION(2, 27, 0), 0, 1},
    {"CTAPolicy", offsetof(ncclConfig_t, CTAPolicy), NCCL_VERSION(2, 27, 0), 0, 3},
    {"shrinkShare", offsetof(ncclConfig_t, shrinkShare), NCCL_VERSION(2, 27, 0), 0, 1},
    {"nvlsCTAs", offsetof(ncclConfig_t, nvlsCTAs), NCCL_VERSION(2, 27, 0), 1, kAny},
    {"nChannelsPerNetPeer", 72, NCCL_VERSION(2, 28, 0), 1, 64},
    {"nvlinkCentricSched", 76, NCCL_VERSION(2, 28, 0), 0, 1},
    {"graphUsageMode", 80, NCCL_VERSION(2, 29, 0), 0, 2},
    {"numRmaCtx", 84, NCCL_VERSION(2, 29, 0), 0, kAny},
    {"maxP2pPeers", 88, NCCL_VERSION(2, 30, 0), 1, kAny},
    {"graphStreamOrdering", 92, NCCL_VERSION(2, 30, 5), 0, 1},
};

Status check_ranges(const Fields& fields) {
  for (const Rule& rule : kRules) {
    const int value = fields.integer(rule.offset, rule.since);
    if (value == kUndefined || (value >= rule.least && value <= rule.most)) continue;
    const std::string most = rule.most == kAny ? "" : fmt::format(" to {}", rule.most);
    return invalid_argument(fmt::format("config.{} is {}; allowed: {}{}", rule.name, value,
                                        rule.least, rule.most == kAny ? " and more" : most));
  }
  const int least = fields.integer(offsetof(ncclConfig_t, minCTAs), NCCL_VERSION(2, 17, 0));
  const int most = fields.integer(offsetof(ncclConfig_t, maxCTAs), NCCL_VERSION(2, 17, 0));
  if (least != kUndefined && most != kUndefined && least > most) {
    return invalid_argument(
        fmt::format("config.minCTAs {} is larger than config.maxCTAs {}", least, most));
  }
  return {};
}

}  // namespace

Status apply_user_config(const ncclConfig_t& config, JoinRequest& request) {
  if (config.magic != kMagic || config.size < kSmallest) {
    return invalid_argument(
        fmt::format("config has magic {:#x} and size {}: use NCCL_CONFIG_INITIALIZER", config.magic,
                    config.size));
  }
  if (config.size > kLargest) {
    return invalid_usage(fmt::format(
        "config has {} bytes, of a header newer than this library knows (at most {} bytes)",
        config.size, kLargest));
  }
  const Fields fields(config);
  ACCL_TRY(check_ranges(fields));
  if (fields.integer(offsetof(ncclConfig_t, blocking), NCCL_VERSION(2, 14, 0)) == 0) {
    return invalid_usage(
        "non-blocking communicators (config.blocking 0) are not available in this version: see "
        "docs/compat.md");
  }
  const char* net = fields.text(offsetof(ncclConfig_t, netName), NCCL_VERSION(2, 17, 0));
  if (net != nullptr && request.config.net.empty()) request.config.net = net;
  const char* name = fields.text(offsetof(ncclConfig_t, commName), NCCL_VERSION(2, 27, 0));
  if (name != nullptr) request.name = name;
  return {};
}

}  // namespace accl
