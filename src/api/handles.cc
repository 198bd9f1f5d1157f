#include "src/api/handles.h"

#include <fmt/format.h>
#include <sys/mman.h>

namespace accl {
namespace {

constexpr size_t kCells = size_t{1} << 20;

struct Cells {
  ncclComm* first = nullptr;
  std::atomic<size_t> used{0};
};

Cells& all_cells() {
  static Cells cells{[] {
    void* memory = mmap(nullptr, kCells * sizeof(ncclComm), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<ncclComm*>(memory);
  }()};
  return cells;
}

}  // namespace

ncclComm* new_handle() {
  Cells& cells = all_cells();
  const size_t index = cells.used.fetch_add(1);
  if (cells.first == nullptr || index >= kCells) {
    cells.used.fetch_sub(1);
    return nullptr;
  }
  auto* cell = new (cells.first + index) ncclComm;
  cell->state.store(ncclComm::kJoining, std::memory_order_release);
  return cell;
}

bool is_handle(const ncclComm* handle) {
  const Cells& cells = all_cells();
  const auto offset =
      reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(cells.first);
  return offset < cells.used.load(std::memory_order_acquire) * sizeof(ncclComm) &&
         offset % sizeof(ncclComm) == 0;
}

void forget_handles() {
  Cells& cells = all_cells();
  for (size_t i = 0; i < cells.used.load(); i++) {
    cells.first[i].communicator.store(nullptr);
    cells.first[i].state.store(ncclComm::kGone);
  }
}

// The order matters: first be counted, then look. Whoever frees does it the other way round.
Use::Use(ncclComm_t handle) : asked_(handle) {
  if (!is_handle(handle)) return;
  handle_ = handle;
  handle->users.fetch_add(1, std::memory_order_seq_cst);
  communicator_ = handle->communicator.load(std::memory_order_seq_cst);
}

Status Use::why_not() const {
  if (asked_ == nullptr) return invalid_argument("comm is NULL");
  if (handle_ == nullptr) {
    return invalid_argument(
        fmt::format("comm {} is not a communicator", static_cast<const void*>(asked_)));
  }
  if (handle_->state.load() == ncclComm::kJoining) {
    return invalid_argument("comm is still being initialised: wait for ncclCommInitRank");
  }
  return invalid_argument(
      fmt::format("comm {} was rank {}'s communicator and has been destroyed or aborted",
                  static_cast<const void*>(asked_), handle_->rank.load()));
}

}  // namespace accl
