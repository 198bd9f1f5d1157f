#include "src/control/exchange.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace accl {
namespace {

constexpr size_t kMaxParts = 1024;

/// Takes the descriptors out, or duplicates them while a connection still has to send them.
std::vector<Fd> take_fds(const std::vector<SharedFds>& parts) {
  std::vector<Fd> taken;
  for (const SharedFds& part : parts) {
    if (!part) continue;
    for (Fd& fd : *part) {
      taken.emplace_back(part.use_count() == 1 ? fd.release()
                                               : fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    }
  }
  return taken;
}

}  // namespace

Result<std::vector<Fd>> duplicate(const std::vector<int>& fds) {
  std::vector<Fd> copies;
  for (const int fd : fds) {
    copies.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copies.back()) {
      return system_error("cannot duplicate file descriptor " + std::to_string(fd) + ": " +
                          strerror(errno));
    }
  }
  return copies;
}

void Exchanges::call(uint32_t turn, Kind kind, std::shared_ptr<const Blob> blob,
                     const SharedFds& fds) {
  State& state = states_[turn];
  state.called = kind;
  if (!blob) return;
  const size_t count = fds ? fds->size() : 0;
  const size_t parts = std::max<size_t>(1, (count + Connection::kMaxFds - 1) / Connection::kMaxFds);
  Given given{std::move(blob), {}, parts};
  for (size_t part = 0; part < parts; ++part) {
    SharedFds some;
    if (count > 0) {
      some = std::make_shared<std::vector<Fd>>();
      const size_t end = std::min(count, (part + 1) * Connection::kMaxFds);
      for (size_t i = part * Connection::kMaxFds; i < end; ++i) {
        some->push_back(std::move((*fds)[i]));
      }
    }
    given.parts.push_back(some);
    Entry entry{turn, rank_, static_cast<uint16_t>(part), static_cast<uint16_t>(parts), {}};
    if (part == 0) entry.blob = *given.blob;
    send_(packet_of(entry, some), -1);
  }
  state.given[rank_] = std::move(given);
}

bool Exchanges::take(Frame frame, Rank from) {
  const std::optional<Entry> entry = entry_of(frame);
  if (!entry || entry->from < 0 || entry->from >= ranks_ || entry->from == rank_) return false;
  if (entry->parts > kMaxParts) return false;
  Given& given = states_[entry->turn].given[entry->from];
  if (entry->part == 0) {
    if (given.blob) return false;
    given.blob = std::make_shared<Blob>(entry->blob.begin(), entry->blob.end());
    given.parts_wanted = entry->parts;
  }
  if (entry->part != given.parts.size() || entry->parts != given.parts_wanted) return false;
  SharedFds fds;
  if (!frame.fds.empty()) fds = std::make_shared<std::vector<Fd>>(std::move(frame.fds));
  given.parts.push_back(fds);
  send_(Connection::make_packet(frame.kind, frame.payload, fds), from);
  return true;
}

bool Exchanges::satisfied(const State& state) const {
  if (!state.called) return false;
  const auto has = [&](Rank rank) {
    const auto found = state.given.find(rank);
    return found != state.given.end() && found->second.complete();
  };
  if (*state.called == Kind::kBroadcast) return has(0);
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (!has(rank)) return false;
  }
  return true;
}

std::optional<std::vector<Contribution>> Exchanges::take_result(uint32_t turn) {
  const auto found = states_.find(turn);
  if (found == states_.end() || !satisfied(found->second)) return std::nullopt;
  std::vector<Contribution> result;
  for (auto& [rank, given] : found->second.given) {
    result.push_back({*given.blob, take_fds(given.parts)});
  }
  states_.erase(found);
  return result;
}

std::vector<Rank> Exchanges::missing(uint32_t turn) const {
  std::vector<Rank> ranks;
  const auto found = states_.find(turn);
  if (found == states_.end() || !found->second.called) return ranks;
  const int wanted = *found->second.called == Kind::kBroadcast ? 1 : ranks_;
  for (Rank rank = 0; rank < wanted; ++rank) {
    const auto given = found->second.given.find(rank);
    if (given == found->second.given.end() || !given->second.complete()) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace accl
