#include "src/control/board.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/assert.h"
#include "src/base/process.h"
#include "src/bootstrap/messages.h"
#include "src/bootstrap/rank_list.h"
#include "src/bootstrap/unique_id.h"

namespace accl {
namespace {

constexpr int kPremulSum = 5;

std::string op_name(uint8_t op) {
  constexpr std::array<std::string_view, 6> names = {"sum", "prod", "max",
                                                     "min", "avg",  "premulsum"};
  static_assert(names.size() == kPremulSum + 1);
  return op < names.size() ? std::string(names[op]) : "operator " + std::to_string(op);
}

/// " in count, type": what differs between calls of one collective; "" if the collectives do.
std::string differing_fields(
    const std::vector<std::pair<CallSignature, std::vector<Rank>>>& calls) {
  const CallSignature& first = calls[0].first;
  const auto any = [&](auto field) {
    return std::any_of(calls.begin(), calls.end(),
                       [&](const auto& call) { return call.first.*field != first.*field; });
  };
  if (any(&CallSignature::collective)) return {};
  std::string fields;
  const auto add = [&](bool differs, const char* name) {
    if (differs) fields += (fields.empty() ? " in " : ", ") + std::string(name);
  };
  add(any(&CallSignature::count), "count");
  add(any(&CallSignature::type), "type");
  add(any(&CallSignature::op), "operator");
  add(any(&CallSignature::root), "root");
  return fields;
}

std::string describe_signatures(
    const std::vector<std::pair<CallSignature, std::vector<Rank>>>& calls) {
  std::string text;
  for (const auto& [signature, ranks] : calls) {
    if (!text.empty()) text += "; ";
    text +=
        describe_ranks(ranks) + (ranks.size() == 1 ? " calls " : " call ") + describe(signature);
  }
  return text;
}

}  // namespace

std::string describe(const CallSignature& signature) {
  const auto collective = static_cast<int>(signature.collective);
  const auto type = static_cast<int>(signature.type);
  std::string text = collective < kCollectives ? std::string(name_of(signature.collective))
                                               : "collective " + std::to_string(collective);
  text += "(count " + std::to_string(signature.count) + ", ";
  text += type < kDataTypes ? std::string(name_of(signature.type)) : "type " + std::to_string(type);
  if (signature.collective == Collective::kAllReduce ||
      signature.collective == Collective::kReduceScatter ||
      signature.collective == Collective::kReduce) {
    text += ", " + op_name(signature.op);
  }
  if (signature.root >= 0) text += ", root " + std::to_string(signature.root);
  return text + ")";
}

BoardWriter::BoardWriter(std::span<std::byte> slot)
    : slot_(reinterpret_cast<BoardSlot*>(slot.data())) {
  ACCL_ASSERT(slot.size() >= sizeof(BoardSlot));
  ACCL_ASSERT(reinterpret_cast<uintptr_t>(slot.data()) % 64 == 0);
}

void BoardWriter::enter() { enter({getpid(), process_start_time(getpid()), host_name()}); }

void BoardWriter::enter(const BoardIdentity& who) {
  const std::string& name = who.host;
  for (size_t i = 0; i < slot_->host.size(); ++i) {
    uint64_t word = 0;
    if (i * 8 < name.size()) {
      std::memcpy(&word, name.data() + i * 8, std::min<size_t>(8, name.size() - i * 8));
    }
    slot_->host[i].store(word, std::memory_order_relaxed);
  }
  slot_->pid.store(static_cast<uint32_t>(who.pid), std::memory_order_relaxed);
  slot_->start_time.store(who.start_time, std::memory_order_relaxed);
  set_state(RankState::kRunning);
}

void BoardWriter::set_state(RankState state) {
  slot_->state.store(static_cast<uint32_t>(state), std::memory_order_release);
}

void BoardWriter::tell(const Wait& wait) {
  const uint64_t point =
      static_cast<uint64_t>(wait.what) << 62 |
      static_cast<uint64_t>(static_cast<uint32_t>(wait.peer) & 0x3fffffff) << 32 | wait.bytes;
  slot_->wait_point.store(point, std::memory_order_relaxed);
  slot_->wait_mark.store(wait.mark, std::memory_order_release);
  slot_->wait_looks.fetch_add(1, std::memory_order_release);
}

void BoardWriter::go_on() { slot_->wait_mark.store(0, std::memory_order_release); }

Board::Board(const std::vector<std::span<const std::byte>>& slots) {
  slots_.reserve(slots.size());
  for (const auto slot : slots) {
    ACCL_ASSERT(slot.size() >= sizeof(BoardSlot));
    slots_.push_back(reinterpret_cast<const BoardSlot*>(slot.data()));
  }
}

std::optional<CallSignature> Board::signature(Rank rank, uint64_t sequence) const {
  const BoardSlot& slot = *slots_[static_cast<size_t>(rank)];
  const BoardSlot::Entry& entry = slot.history[sequence % BoardSlot::kHistory];
  if (entry.turn.load(std::memory_order_acquire) != sequence + 1) return std::nullopt;
  const uint64_t count = entry.count.load(std::memory_order_acquire);
  const uint64_t word = entry.packed.load(std::memory_order_acquire);
  if (entry.turn.load(std::memory_order_relaxed) != sequence + 1) return std::nullopt;
  return unpacked(sequence, count, word);
}

std::optional<CallSignature> Board::last(Rank rank) const {
  const uint64_t turn = slots_[static_cast<size_t>(rank)]->turn.load(std::memory_order_acquire);
  return turn == 0 ? std::nullopt : signature(rank, turn - 1);
}

RankState Board::state(Rank rank) const {
  const uint32_t state = slots_[static_cast<size_t>(rank)]->state.load(std::memory_order_acquire);
  return state <= static_cast<uint32_t>(RankState::kFailed) ? static_cast<RankState>(state)
                                                            : RankState::kAbsent;
}

std::pair<uint64_t, uint64_t> Board::wait_of(Rank rank) const {
  const BoardSlot& slot = *slots_[static_cast<size_t>(rank)];
  const uint64_t looks = slot.wait_looks.load(std::memory_order_acquire);
  return {slot.wait_mark.load(std::memory_order_acquire), looks};
}

std::string Board::describe_wait(Rank rank) const {
  const BoardSlot& slot = *slots_[static_cast<size_t>(rank)];
  const uint64_t point = slot.wait_point.load(std::memory_order_acquire);
  const auto what = static_cast<Wait::For>(point >> 62);
  if (what == Wait::For::kCollective) {
    const auto call = signature(rank, slot.turn.load(std::memory_order_acquire) - 1);
    return call ? describe(*call) : "a collective";
  }
  const auto bytes = static_cast<uint32_t>(point);
  const bool send = what == Wait::For::kSend;
  return (send ? "Send" : "Recv") + (bytes > 0 ? " of " + std::to_string(bytes) + " bytes" : "") +
         (send ? " to rank " : " from rank ") + std::to_string(point >> 32 & 0x3fffffff);
}

std::string Board::describe_waits() const {
  constexpr size_t kMaxShown = 8;
  std::vector<std::pair<std::string, std::vector<Rank>>> places;
  for (Rank rank = 0; rank < static_cast<Rank>(slots_.size()); ++rank) {
    const std::string place = describe_wait(rank);
    const auto same = std::find_if(places.begin(), places.end(),
                                   [&](const auto& other) { return other.first == place; });
    if (same != places.end()) {
      same->second.push_back(rank);
    } else {
      places.push_back({place, {rank}});
    }
  }
  std::string text;
  for (size_t i = 0; i < places.size() && i < kMaxShown; ++i) {
    const auto& [place, ranks] = places[i];
    text += (i > 0 ? "; " : "") + describe_ranks(ranks) +
            (ranks.size() == 1 ? " waits in " : " wait in ") + place;
  }
  if (places.size() > kMaxShown) {
    text += "; and " + std::to_string(places.size() - kMaxShown) + " more calls";
  }
  return text;
}

std::string Board::describe_rank(Rank rank) const {
  const BoardSlot& slot = *slots_[static_cast<size_t>(rank)];
  std::array<char, 65> name{};
  for (size_t i = 0; i < slot.host.size(); ++i) {
    const uint64_t word = slot.host[i].load(std::memory_order_relaxed);
    std::memcpy(name.data() + i * 8, &word, 8);
  }
  const auto pid = static_cast<int>(slot.pid.load(std::memory_order_relaxed));
  return describe_process(rank, pid, name.data());
}

bool Board::agree(uint64_t sequence) const {
  std::optional<CallSignature> first;
  for (Rank rank = 0; rank < static_cast<Rank>(slots_.size()); ++rank) {
    const std::optional<CallSignature> mine = signature(rank, sequence);
    if (!mine) continue;
    if (!first) first = mine;
    if (*mine != *first) return false;
  }
  return true;
}

std::optional<Mismatch> Board::compare() const {
  uint64_t last = 0;
  for (const BoardSlot* slot : slots_) {
    last = std::max(last, slot->turn.load(std::memory_order_acquire));
  }
  // Ranks may be at different operations; look at every one that a slot may still remember.
  const uint64_t window = 2 * BoardSlot::kHistory;
  for (uint64_t turn = last > window ? last - window : 1; turn != 0 && turn <= last; ++turn) {
    if (agree(turn - 1)) continue;  // whoever waits long looks often: this allocates nothing
    std::vector<std::pair<CallSignature, std::vector<Rank>>> calls;
    for (Rank rank = 0; rank < static_cast<Rank>(slots_.size()); ++rank) {
      const std::optional<CallSignature> mine = signature(rank, turn - 1);
      if (!mine) continue;
      const auto same = std::find_if(calls.begin(), calls.end(),
                                     [&](const auto& call) { return call.first == *mine; });
      if (same != calls.end()) {
        same->second.push_back(rank);
      } else {
        calls.push_back({*mine, {rank}});
      }
    }
    if (calls.size() < 2) continue;
    return Mismatch{turn - 1, "operation " + std::to_string(turn - 1) + " differs" +
                                  differing_fields(calls) + ": " + describe_signatures(calls)};
  }
  return std::nullopt;
}

bool Board::all_began(uint64_t sequence, Rank self) const {
  for (Rank rank = 0; rank < static_cast<Rank>(slots_.size()); ++rank) {
    const uint64_t turn = slots_[static_cast<size_t>(rank)]->turn.load(std::memory_order_acquire);
    if (rank != self && turn < sequence + 1) return false;
  }
  return true;
}

std::vector<Rank> Board::laggards(uint64_t sequence, Rank self) const {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < static_cast<Rank>(slots_.size()); ++rank) {
    const uint64_t turn = slots_[static_cast<size_t>(rank)]->turn.load(std::memory_order_acquire);
    if (rank != self && turn < sequence + 1) ranks.push_back(rank);
  }
  return ranks;
}

std::string Board::describe_laggards(const CallSignature& waiting, Rank self) const {
  constexpr size_t kMaxShown = 4;
  const std::vector<Rank> late = laggards(waiting.sequence, self);
  if (late.empty()) return {};
  std::string text = "operation " + std::to_string(waiting.sequence) + " " +
                     std::string(name_of(waiting.collective)) + " waits for ";
  for (size_t i = 0; i < late.size() && i < kMaxShown; ++i) {
    const BoardSlot& slot = *slots_[static_cast<size_t>(late[i])];
    const uint64_t turn = slot.turn.load(std::memory_order_acquire);
    text += (i > 0 ? "; " : "") + describe_rank(late[i]) + "; its last operation is " +
            (turn == 0 ? "none" : std::to_string(turn - 1));
    if (state(late[i]) == RankState::kLeft) text += " and it has left";
    if (state(late[i]) == RankState::kFailed) text += " and it has failed";
  }
  if (late.size() > kMaxShown) {
    text += "; and " + std::to_string(late.size() - kMaxShown) + " more";
  }
  return text;
}

}  // namespace accl
