// What an ncclComm_t points to: a cell that outlives the communicator, so that a handle that was
// freed, or never was one, is recognised and not followed.
//
// The cells lie in one reserved range of addresses and are used once each, 64 bytes a communicator:
// a range check and one load tell a live handle. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "accl/nccl.h"
#include "src/comm/communicator.h"

/// The cell. `communicator` is null while the communicator is being made and once it is gone.
struct alignas(64) ncclComm {
  enum State : uint32_t { kUnused, kJoining, kLive, kGone };

  std::atomic<accl::Communicator*> communicator{nullptr};
  std::atomic<uint32_t> users{0};  ///< API calls that are inside the communicator now
  std::atomic<State> state{kUnused};
  std::atomic<bool> abort{false};  ///< ends a join early
  std::atomic<bool> finalized{false};
  std::atomic<int> rank{-1};  ///< for texts, also when the communicator is gone
};
static_assert(sizeof(ncclComm) == 64);

namespace accl {

/// A new cell in state kJoining; null when all are used up (65536 at a time; a million in a
/// process's life).
ncclComm* new_handle();
/// True if `handle` points to a cell that was given out.
bool is_handle(const ncclComm* handle);
/// After fork(): the parent's handles mean nothing here.
void forget_handles();

/// A live communicator, kept alive while this object exists; or nothing, and why.
class Use {
 public:
  explicit Use(ncclComm_t handle);
  ~Use() {
    if (handle_) handle_->users.fetch_sub(1, std::memory_order_release);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  explicit operator bool() const { return communicator_ != nullptr; }
  Communicator* operator->() const { return communicator_; }
  Communicator& operator*() const { return *communicator_; }
  /// Why there is none: invalid_argument with the handle and what is wrong with it.
  Status why_not() const;

 private:
  ncclComm_t asked_;
  ncclComm_t handle_ = nullptr;
  Communicator* communicator_ = nullptr;
};

/// In the child of a fork: the lock of registered buffers (memory.cc) may have been held.
void renew_registrations();

}  // namespace accl
