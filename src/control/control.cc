#include "src/control/control.h"

#include <limits>
#include <new>
#include <utility>

#include "src/control/core.h"

namespace accl {
namespace {

constexpr uint64_t kLeaveLimitMs = 1'000;

}  // namespace

Result<std::unique_ptr<Control>> Control::start(Reactor& reactor, Wiring wiring) {
  const Rank rank = wiring.rank;
  const int ranks = wiring.ranks;
  auto core = std::make_shared<ControlCore>(reactor, rank, ranks);
  auto shared = std::make_shared<Wiring>(std::move(wiring));
  reactor.post([core, shared] { core->begin(std::move(*shared)); });
  return std::unique_ptr<Control>(new Control(reactor, std::move(core), rank, ranks));
}

Control::Control(Reactor& reactor, std::shared_ptr<ControlCore> core, Rank rank, int ranks)
    : reactor_(reactor),
      core_(std::move(core)),
      rank_(rank),
      ranks_(ranks),
      deadline_ns_(std::numeric_limits<uint64_t>::max()) {}

// Without memory for a goodbye, the end of the process tells the others.
Control::~Control() {
  try {
    leave();
  } catch (const std::bad_alloc&) {
  }
}

void Control::set_callbacks(ControlCallbacks callbacks) {
  reactor_.post([core = core_, callbacks = std::move(callbacks)]() mutable {
    core->set_callbacks(std::move(callbacks));
  });
}

void Control::set_patience(uint64_t deadline_ns, const std::atomic<bool>* abort) {
  deadline_ns_ = deadline_ns;
  abort_ = abort;
}

Result<std::vector<Contribution>> Control::all_gather(std::span<const std::byte> mine,
                                                      std::span<const int> fds) {
  if (mine.size() > kMaxEntryBytes) return internal_error("an exchange takes at most 16 MiB");
  auto blob = std::make_shared<const Blob>(mine.begin(), mine.end());
  SharedFds copies = std::make_shared<std::vector<Fd>>(
      ACCL_TRY(duplicate(std::vector<int>(fds.begin(), fds.end()))));
  const uint32_t turn = next_turn_++;
  reactor_.post([core = core_, turn, blob = std::move(blob), copies = std::move(copies)] {
    core->exchange(turn, Exchanges::Kind::kAllGather, blob, copies);
  });
  return core_->wait(turn, deadline_ns_, abort_);
}

Result<std::vector<Blob>> Control::all_gather(std::span<const std::byte> mine) {
  std::vector<Contribution> contributions = ACCL_TRY(all_gather(mine, {}));
  std::vector<Blob> blobs;
  blobs.reserve(contributions.size());
  for (Contribution& contribution : contributions) blobs.push_back(std::move(contribution.blob));
  return blobs;
}

Result<Contribution> Control::broadcast(std::span<const std::byte> blob, std::span<const int> fds) {
  if (blob.size() > kMaxEntryBytes) return internal_error("an exchange takes at most 16 MiB");
  std::shared_ptr<const Blob> given;
  SharedFds copies;
  if (rank_ == 0) {
    given = std::make_shared<const Blob>(blob.begin(), blob.end());
    copies = std::make_shared<std::vector<Fd>>(
        ACCL_TRY(duplicate(std::vector<int>(fds.begin(), fds.end()))));
  }
  const uint32_t turn = next_turn_++;
  reactor_.post([core = core_, turn, given = std::move(given), copies = std::move(copies)] {
    core->exchange(turn, Exchanges::Kind::kBroadcast, given, copies);
  });
  std::vector<Contribution> result = ACCL_TRY(core_->wait(turn, deadline_ns_, abort_));
  return std::move(result.front());
}

Status Control::barrier() {
  const uint32_t turn = next_turn_++;
  reactor_.post([core = core_, turn] { core->barrier(turn); });
  static_cast<void>(ACCL_TRY(core_->wait(turn, deadline_ns_, abort_)));
  return {};
}

void Control::flood(uint16_t kind, std::span<const std::byte> payload) {
  if (payload.size() > kMaxFloodBytes) payload = payload.first(kMaxFloodBytes);
  reactor_.post([core = core_, kind, blob = Blob(payload.begin(), payload.end())] {
    core->flood(kind, blob);
  });
}

void Control::propose(Code code, const std::string& text) {
  reactor_.post(
      [core = core_, notice = Notice{static_cast<int32_t>(code), text}] { core->propose(notice); });
}

void Control::report_death(Rank rank, const std::string& text) {
  reactor_.post([core = core_, notice = Notice{rank, text}] { core->death(notice, -1); });
}

void Control::leave() {
  if (std::exchange(left_, true)) return;
  core_->silent.store(true);
  run_in(
      reactor_, [core = core_] { core->leave(); }, kLeaveLimitMs);
}

}  // namespace accl
