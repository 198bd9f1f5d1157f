// What the ranks of a communicator know of each other.
// Values.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/base/memory.h"
#include "src/base/process.h"
#include "src/base/status.h"
#include "src/base/type.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/contact.h"
#include "src/config/config.h"
#include "src/engine/engine.h"
#include "transport/shm/segment.h"
#include "transport/shm/staging_pool.h"

namespace accl {

/// The most connections from one rank to another.
inline constexpr int kMaxConnections = 64;

/// What the communicators of one process share. Owned by the World, outlives them all.
struct Process {
  Engine& engine;
  Bootstrap& bootstrap;
  shm::StagingPool& staging;
  shm::PoolMap& pools;
  shm::SegmentMap& segments;
  Token token;
};

/// What a rank tells the others when it joins.
struct Member {
  int device = 0;
  int pid = 0;
  uint64_t machine = 0;        ///< machine_tag()
  uint64_t start_time = 0;     ///< of the process
  uint64_t pid_namespace = 0;  ///< where `pid` means something
  Token process{};             ///< equal tokens: one process
  CoreSet cores;
  int granted_cores = 0;  ///< by its control group; 0: no limit
  std::string host;
  std::string algorithm;     ///< NCCL_ALGO: all ranks must choose alike
  Token memory{};            ///< ranks with equal tokens may share memory (memory_key)
  bool p2p_disable = false;  ///< NCCL_P2P_DISABLE
  int connections = 1;       ///< that it makes to each rank on another host
  Contact contact;           ///< how its process is reached,
  uint32_t tree_ticket = 0;  ///< for the tree of its host,
  uint32_t data_ticket = 0;  ///< and for data connections
};

/// Who may share memory with this rank: the processes of this network namespace that have the same
/// NCCL_HOSTID, or with NCCL_SHM_DISABLE this process alone, or with NCCL_P2P_DISABLE as well
/// nobody.
Token memory_key(const Config& config, const Token& process, Rank rank);

Blob pack(const Member& member);
/// remote_error if the bytes are not a member.
Result<Member> unpack_member(std::span<const std::byte> bytes);

/// What a rank asks for when it joins.
struct JoinRequest {
  UniqueId id{};
  int ranks = 1;
  Rank rank = 0;
  int device = 0;
  std::string name;  ///< for logs; may be empty
  Config config;
};

}  // namespace accl
