// The process's one World: what all communicators share. The only place that names concrete
// transports and starts threads for them.
//
// Made by the first call that needs it and never destroyed: a process may exit with live
// communicators and running threads. After fork() the child has none of the parent's communicators
// and makes a World of its own. Any thread.
#pragma once

#include <memory>

#include "src/base/status.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/door.h"
#include "src/comm/member.h"
#include "src/config/load.h"
#include "src/engine/engine.h"
#include "transport/shm/segment.h"
#include "transport/shm/staging_pool.h"

namespace accl {

class World {
 public:
  /// The World of this process; the first call makes it. system_error if the system refuses memory,
  /// descriptors or the thread; it is tried again next time.
  static Result<World*> get();

  /// The settings as they are now: read anew for each communicator.
  static Result<Config> config();

  const Process& process() const { return *process_; }

 private:
  static Result<std::unique_ptr<World>> make();
  static Result<DoorOptions> door_options(const Config& config);

  std::unique_ptr<shm::StagingPool> staging_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Bootstrap> bootstrap_;
  shm::PoolMap pools_;
  shm::SegmentMap segments_;
  std::unique_ptr<Process> process_;
};

}  // namespace accl
