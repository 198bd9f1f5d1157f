#include "src/api/world.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "src/api/handles.h"
#include "src/api/turns.h"
#include "src/base/log.h"

namespace accl {
namespace {

std::mutex world_mutex;
std::atomic<World*> world{nullptr};

// A child has copies of the parent's descriptors and none of its threads: it starts afresh. The old
// World is left where it is; its destructors would talk to the parent's peers.
void in_child() {
  new (&world_mutex) std::mutex;
  world.store(nullptr);
  forget_handles();
  forget_turns();
}

}  // namespace

Result<Config> World::config() {
  LoadedConfig loaded = ACCL_TRY(load_config(process_environment()));
  configure_log(log_settings(loaded.config));
  static std::once_flag announced;
  std::call_once(announced, [&] { announce_config(loaded); });
  return std::move(loaded.config);
}

Result<std::unique_ptr<World>> World::make() {
  auto made = std::make_unique<World>();
  Sleeper::enable_barrier();
  made->staging_ = ACCL_TRY(shm::StagingPool::create());
  made->engine_ = ACCL_TRY(Engine::start(made->staging_->sleeper()));
  made->bootstrap_ = ACCL_TRY(Bootstrap::create(made->engine_->reactor()));
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
