#include "src/api/world.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <mutex>

#include "accl/device.h"
#include "src/api/handles.h"
#include "src/api/last_error.h"
#include "src/api/turns.h"
#include "src/base/log.h"
#include "src/bootstrap/door.h"
#include "src/bootstrap/interfaces.h"

namespace accl {
namespace {

std::mutex world_mutex;
std::atomic<World*> world{nullptr};

// A child has copies of the parent's descriptors and none of its threads: it starts afresh. The old
// World is left where it is; its destructors would talk to the parent's peers.
void in_child() {
  new (&world_mutex) std::mutex;
  world.store(nullptr);
  renew_last_error();
  renew_registrations();
  forget_handles();
  forget_turns();
}

}  // namespace

Result<Config> World::config() {
  LoadedConfig loaded = ACCL_TRY(load_config(process_environment()));
  configure_log(log_settings(loaded.config));
  int device = -1;
  if (acclGetDevice(&device) != acclSuccess) device = -1;
  const LogScope scope(device);
  static std::once_flag announced;
  std::call_once(announced, [&] { announce_config(loaded); });
  return std::move(loaded.config);
}

// Where other hosts find this process. Without any network, ranks of one host still find each
// other.
Result<DoorOptions> World::door_options(const Config& config) {
  DoorOptions options{.addresses = {},
                      .ports = {config.port_range.first, config.port_range.second}};
  const Snapshot snapshot = ACCL_TRY(take_snapshot());
  auto chosen = choose_interfaces(
      snapshot,
      {.ifname = config.socket_ifname, .family = config.socket_family, .near = std::nullopt});
  if (!chosen.ok() && chosen.status().code() != Code::kSystem) return std::move(chosen.status());
  if (!chosen.ok()) {
    ACCL_LOG(kInfo, kBootstrap, "Bootstrap : {}", chosen.status().text());
    return options;
  }
  for (const std::string& reason : chosen->reasons)
    ACCL_LOG(kInfo, kBootstrap, "Bootstrap : {}", reason);
  for (const Candidate& candidate : chosen->candidates) {
    options.addresses.push_back(candidate.address);
    if (options.addresses.size() == 1) {
      ACCL_LOG(kInfo, kBootstrap, "Bootstrap: Using {}:{}<0>", candidate.interface,
               describe(candidate.address));
    }
  }
  return options;
}

Result<std::unique_ptr<World>> World::make() {
  const Config settings = ACCL_TRY(config());
  auto made = std::make_unique<World>();
  Sleeper::enable_barrier();
  made->staging_ = ACCL_TRY(shm::StagingPool::create());
  made->engine_ = ACCL_TRY(Engine::start(made->staging_->sleeper()));
  const DoorOptions reached = ACCL_TRY(door_options(settings));
  made->bootstrap_ = ACCL_TRY(Bootstrap::create(made->engine_->reactor(), reached));
  made->process_.reset(new Process{*made->engine_, *made->bootstrap_, *made->staging_, made->pools_,
                                   made->segments_, made->staging_->token()});
  return made;
}

Result<World*> World::get() {
  if (World* here = world.load(std::memory_order_acquire)) return here;
  const std::lock_guard lock(world_mutex);
  if (World* here = world.load(std::memory_order_acquire)) return here;
  static const int registered = pthread_atfork(nullptr, nullptr, in_child);
  static_cast<void>(registered);
  auto made = ACCL_TRY(make());
  World* here = made.release();  // for the life of the process
  world.store(here, std::memory_order_release);
  return here;
}

}  // namespace accl
