// Every setting, in one table (docs/env.md is made from it).
//
// A Config is an immutable value once loaded; each communicator keeps a copy. To add a setting: a
// field with its default as initialiser, and a row. Nothing else in the library reads the
// environment. Pure values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/base/log.h"
#include "src/config/form.h"

namespace accl {

/// NCCL_CHECK_MODE: how much each call is checked beyond what always is.
enum class CheckMode : uint8_t { kDefault, kDebugLocal, kDebugGlobal };

/// ACCL_ISA: the most that reduction kernels may use.
enum class IsaLimit : uint8_t { kAuto, kScalar, kAvx2, kAvx512 };

struct Config {
  LogLevel debug = LogLevel::kNone;
  uint32_t debug_subsys = kDefaultSubsystems;
  std::string debug_file;
  std::string algo;
  CheckMode check_mode = CheckMode::kDefault;
  bool multi_rank_gpu_enable = true;
  std::string socket_ifname;
  std::string socket_family;
  std::string host_id;
  std::string net;
  bool shm_disable = false;
  bool p2p_disable = false;
  int64_t socket_nthreads = 1;
  int64_t nsocks_perthread = 1;
  std::pair<uint16_t, uint16_t> port_range{0, 0};
  IsaLimit isa = IsaLimit::kAuto;
  int64_t init_timeout_ms = 300'000;
  int64_t op_timeout_ms = 0;

  bool operator==(const Config&) const = default;
};

/// One row: the name users write, where the value goes, its form, what it is for.
template <class T, class Form>
struct Param {
  std::string_view name;
  T Config::*field;
  Form form;
  std::string_view text;
};
template <class T, class Form>
Param(std::string_view, T Config::*, Form, std::string_view) -> Param<T, Form>;

inline constexpr auto kParams = std::tuple{
    Param{"NCCL_DEBUG", &Config::debug,
          form::Word<LogLevel, 6>{{{{"NONE", LogLevel::kNone},
                                    {"VERSION", LogLevel::kVersion},
                                    {"WARN", LogLevel::kWarn},
                                    {"INFO", LogLevel::kInfo},
                                    {"ABORT", LogLevel::kAbort},
                                    {"TRACE", LogLevel::kTrace}}}},
          "How much to print. Errors do not need it: ncclGetLastError has their text."},
    Param{"NCCL_DEBUG_SUBSYS", &Config::debug_subsys, form::Subsystems{},
          "Which parts of the library may print at INFO and TRACE."},
    Param{"NCCL_DEBUG_FILE", &Config::debug_file, form::Text{"a file name"},
          "Where to print; empty: standard output. %h becomes the host name, %p the process id, %% "
          "a percent sign. Counts from NCCL_DEBUG=WARN on. An existing file is appended to. If it "
          "cannot be opened, one line on standard error says so and printing goes there."},
    Param{
        "NCCL_ALGO", &Config::algo, form::Text{"the name of one algorithm, in any case"},
        "The algorithm to use (docs/algorithms.md); empty: the library chooses. ring does "
        "Broadcast and Reduce by chain, as in NCCL. For a collective that the algorithm cannot do "
        "the library chooses, and one INFO line of TUNING says so. A name that does not exist is "
        "an error that lists the names; so are ranks that disagree. NCCL's lists (\"Ring,Tree\", "
        "\"^Ring\", \"allreduce:ring\") are not available yet and count as unknown names."},
    Param{"NCCL_CHECK_MODE", &Config::check_mode,
          form::Word<CheckMode, 3>{{{{"DEFAULT", CheckMode::kDefault},
                                     {"DEBUG_LOCAL", CheckMode::kDebugLocal},
                                     {"DEBUG_GLOBAL", CheckMode::kDebugGlobal}}}},
          "DEFAULT already finds NULL, overlap and ranks that call different things. The other "
          "words are accepted and add nothing in this version."},
    Param{"NCCL_MULTI_RANK_GPU_ENABLE", &Config::multi_rank_gpu_enable, form::Flag{},
          "1: ranks of a communicator may share a device. 0: that is an error which names them. "
          "(NCCL's default is 0; the host device is made for sharing.)"},
    Param{"NCCL_SOCKET_IFNAME", &Config::socket_ifname,
          form::Text{"interface names or their beginnings, such as eth,ib; =eth0 for whole names, "
                     "^lo for all others"},
          "Which network interfaces to use. Empty: the library chooses and says why at INFO. "
          "Counts for "
          "the whole process; if nothing matches, initialisation fails and lists what there is."},
    Param{"NCCL_SOCKET_FAMILY", &Config::socket_family, form::Text{"AF_INET or AF_INET6"},
          "Which addresses to use; empty: both. Counts for the whole process."},
    Param{"NCCL_HOSTID", &Config::host_id, form::Text{"any text"},
          "Ranks with different texts talk as if they were on different hosts. Empty: the machine "
          "counts. Memory is only ever shared within one network namespace."},
    Param{
        "NCCL_NET", &Config::net, form::Text{"Socket"},
        "The network between hosts. Only sockets exist in this version; another name is an error."},
    Param{"NCCL_SHM_DISABLE", &Config::shm_disable, form::Flag{},
          "1: processes of one host use sockets instead of shared memory."},
    Param{
        "NCCL_P2P_DISABLE", &Config::p2p_disable, form::Flag{},
        "1: ranks of one process use shared memory, or sockets if that is disabled too, instead of "
        "reading each other's buffers."},
    Param{"NCCL_SOCKET_NTHREADS", &Config::socket_nthreads, form::Number{1, 16},
          "Times NCCL_NSOCKS_PERTHREAD: connections from one rank to another, at most 64. There "
          "are no "
          "threads for them."},
    Param{"NCCL_NSOCKS_PERTHREAD", &Config::nsocks_perthread, form::Number{1, 64},
          "See NCCL_SOCKET_NTHREADS."},
    Param{"ACCL_PORT_RANGE", &Config::port_range, form::Ports{},
          "The ports that the process may listen on; it needs one for each address family. Empty: "
          "any."},
    Param{"ACCL_ISA", &Config::isa,
          form::Word<IsaLimit, 4>{{{{"auto", IsaLimit::kAuto},
                                    {"scalar", IsaLimit::kScalar},
                                    {"avx2", IsaLimit::kAvx2},
                                    {"avx512", IsaLimit::kAvx512}}}},
          "The most that reduction kernels may use; what the machine lacks is never used."},
    Param{"ACCL_INIT_TIMEOUT", &Config::init_timeout_ms, form::Seconds{.least_ms = 1},
          "How long initialisation waits for the other ranks before it fails and names those that "
          "are missing."},
    Param{"ACCL_OP_TIMEOUT", &Config::op_timeout_ms, form::Seconds{.zero_means = "never an error"},
          "How long an operation may wait for another rank before the communicator fails and names "
          "it. Without it a WARN names the late rank after 60 s and the operation waits on."},
};

/// A setting that comes from the environment only, read elsewhere than in the table.
struct ForeignParam {
  std::string_view name;
  std::string_view default_value;
  std::string_view allowed;
  std::string_view text;
};
inline constexpr ForeignParam kForeignParams[] = {
    {"NCCL_CONF_FILE", "~/.nccl.conf", "a file name",
     "File with settings. Read from the environment only."},
    {"ACCL_HOST_DEVICES", "8", "a whole number from 1 to 1024",
     "How many devices the host device shows. Read by libaccl_host from the environment, once."},
};

/// The part of the settings that the logger takes.
inline LogSettings log_settings(const Config& config) {
  return {config.debug, config.debug_subsys, config.debug_file};
}

/// Calls visit(param) for each row of the table.
template <class Visitor>
constexpr void for_each_param(Visitor&& visit) {
  std::apply([&](const auto&... param) { (visit(param), ...); }, kParams);
}

}  // namespace accl
