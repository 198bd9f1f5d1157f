// How a communicator comes to be: the ranks meet, agree, and share the memory they talk through.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/bootstrap/rank_list.h"
#include "src/comm/communicator.h"

namespace accl {
namespace {

constexpr int kMaxCores = 1024;
constexpr const char* kVersionText = "2.27.7";

// The fixed part of a packed Member; host and algorithm follow, each ended by a zero byte.
struct PackedMember {
  int32_t device;
  int32_t pid;
  uint64_t start_time;
  uint64_t pid_namespace;
  Token process;
  CoreSet cores;
  int64_t granted_cores;
};

Blob text_blob(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

std::string blob_text(const Blob& blob) {
  return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

std::string this_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

Blob pack(const Member& member) {
  const PackedMember fixed{member.device,  member.pid,   member.start_time,   member.pid_namespace,
                           member.process, member.cores, member.granted_cores};
  Blob blob(sizeof fixed);
  std::memcpy(blob.data(), &fixed, sizeof fixed);
  for (const std::string* text : {&member.host, &member.algorithm}) {
    const Blob part = text_blob(*text);
    blob.insert(blob.end(), part.begin(), part.end());
    blob.push_back(std::byte{0});
  }
  return blob;
}

Result<Member> unpack_member(std::span<const std::byte> bytes) {
  PackedMember fixed{};
  const size_t ends = static_cast<size_t>(std::count(bytes.begin(), bytes.end(), std::byte{0}));
  if (bytes.size() < sizeof fixed + 2 || bytes.back() != std::byte{0} || ends < 2) {
    return remote_error("a peer introduced itself with a broken message");
  }
  std::memcpy(&fixed, bytes.data(), sizeof fixed);
  const char* text = reinterpret_cast<const char*>(bytes.data() + sizeof fixed);
  const std::string host(text);
  const size_t used = sizeof fixed + host.size() + 1;
  if (used >= bytes.size()) return remote_error("a peer introduced itself with a broken message");
  return Member{.device = fixed.device,
                .pid = fixed.pid,
                .start_time = fixed.start_time,
                .pid_namespace = fixed.pid_namespace,
                .process = fixed.process,
                .cores = fixed.cores,
                .granted_cores = static_cast<int>(fixed.granted_cores),
                .host = host,
                .algorithm = std::string(text + host.size() + 1)};
}

/// The steps of one rank's init, in order. All ranks walk them alike: a rank that has failed says
/// so in `agree`, so that nobody is left waiting.
class Joiner {
 public:
  Joiner(Communicator& comm, const JoinRequest& request, const Process& process,
         const std::atomic<bool>& abort)
      : comm_(comm), request_(request), process_(process), abort_(abort) {}

  Status run() {
    Member mine = introduce();
    if (comm_.size_ == 1) {
      comm_.members_ = {mine};
      return {};
    }
    ACCL_TRY(meet());
    Status here = share_segment();
    const Status agreed = agree(here);
    if (!agreed.ok()) return agreed.copy();
    here = exchange(mine);
    if (here.ok()) here = check_members();
    return agree(here);
  }

 private:
  Member introduce() const {
    const int pid = getpid();
    return {.device = comm_.device_,
            .pid = pid,
            .start_time = process_start_time(pid),
            .pid_namespace = pid_namespace(),
            .process = process_.token,
            .cores = usable_cores(),
            .granted_cores = granted_cores(),
            .host = this_host(),
            .algorithm = request_.config.algo};
  }

  Status meet() {
    const auto timeout_ms = static_cast<uint64_t>(request_.config.init_timeout_ms);
    const uint64_t deadline = now_ns() + timeout_ms * kNsPerMs;
    Wiring wiring = ACCL_TRY(process_.bootstrap.join({.id = request_.id,
                                                      .rank = comm_.rank_,
                                                      .ranks = comm_.size_,
                                                      .timeout_ms = timeout_ms,
                                                      .abort = &abort_,
                                                      .version = kVersionText}));
    comm_.control_ = ACCL_TRY(Control::start(process_.engine.reactor(), std::move(wiring)));
    comm_.control_->set_patience(deadline, &abort_);
    return {};
  }

  // Rank 0 makes the memory that all map. Its refusal reaches the others as a text.
  Status share_segment() {
    if (comm_.rank_ == 0) {
      auto made = process_.segments.create(comm_.size_);
      if (!made.ok()) {
        static_cast<void>(comm_.control_->broadcast(text_blob(made.status().text()), {}));
        return std::move(made.status());
      }
      comm_.segment_ = std::move(*made);
      const std::array<int, 1> fds = {comm_.segment_->fd()};
      static_cast<void>(ACCL_TRY(comm_.control_->broadcast({}, fds)));
      return {};
    }
    Contribution given = ACCL_TRY(comm_.control_->broadcast({}, {}));
    if (given.fds.size() != 1) {
      return system_error("rank 0 could not make the shared memory: " + blob_text(given.blob));
    }
    comm_.segment_ = ACCL_TRY(process_.segments.map(std::move(given.fds[0]), comm_.size_));
    return {};
  }

  Status exchange(const Member& mine) {
    const std::array<int, 2> fds = {process_.staging.fd(), process_.staging.eventfd()};
    auto all = ACCL_TRY(comm_.control_->all_gather(pack(mine), fds));
    for (Contribution& given : all) {
      Member member = ACCL_TRY(unpack_member(given.blob));
      std::shared_ptr<const shm::PeerPool> pool;
      if (member.process != process_.token) {
        if (given.fds.size() != 2) return remote_error("a peer sent no staging memory");
        pool = ACCL_TRY(process_.pools.open(std::move(given.fds[0]), std::move(given.fds[1])));
      }
      comm_.members_.push_back(std::move(member));
      comm_.pools_.push_back(std::move(pool));
    }
    return {};
  }

  // What must hold between the ranks. Everybody has the same facts and comes to the same text.
  Status check_members() {
    const auto& members = comm_.members_;
    for (size_t i = 1; i < members.size(); i++) {
      if (members[i].algorithm == members[0].algorithm) continue;
      return invalid_usage(fmt::format("NCCL_ALGO differs: rank 0 has '{}', rank {} has '{}'",
                                       members[0].algorithm, i, members[i].algorithm));
    }
    if (request_.config.multi_rank_gpu_enable) return {};
    for (const Member& first : members) {
      std::vector<Rank> ranks;
      for (size_t i = 0; i < members.size(); i++) {
        if (members[i].device == first.device) ranks.push_back(static_cast<Rank>(i));
      }
      if (ranks.size() < 2) continue;
      return invalid_usage(
          fmt::format("{} share device {} of host {}, which NCCL_MULTI_RANK_GPU_ENABLE=0 forbids "
                      "(set it to 1 or give each rank a device of its own)",
                      describe_ranks(ranks), first.device, first.host));
    }
    return {};
  }

  // Ok if all ranks are; else the first failing rank's error, on every rank.
  Status agree(const Status& mine) {
    const std::string text =
        mine.ok() ? "" : fmt::format("{}:{}", static_cast<int>(mine.code()), mine.text());
    auto all = comm_.control_->all_gather(text_blob(text));
    if (!all.ok()) return mine.ok() ? std::move(all.status()) : mine.copy();
    for (size_t i = 0; i < all->size(); i++) {
      const std::string said = blob_text((*all)[i]);
      if (said.size() < 2) continue;
      const auto code = static_cast<Code>(said[0] - '0');
      if (static_cast<Rank>(i) == comm_.rank_ || code == Code::kInvalidUsage) {
        return {code, said.substr(2)};
      }
      return {code, fmt::format("rank {}: {}", i, said.substr(2))};
    }
    return {};
  }

  Communicator& comm_;
  const JoinRequest& request_;
  const Process& process_;
  const std::atomic<bool>& abort_;
};

namespace {

std::string algorithm_names() {
  std::string names;
  for (int i = 0; i < kAlgorithms; i++) {
    names += fmt::format("{}{}", i > 0 ? ", " : "", name_of(static_cast<Algorithm>(i)));
  }
  return names;
}

bool more_ranks_than_cores(const std::vector<Member>& members) {
  CoreSet cores;
  int granted = kMaxCores;
  for (const Member& member : members) {
    cores.add(member.cores);
    if (member.granted_cores > 0) granted = std::min(granted, member.granted_cores);
  }
  return static_cast<int>(members.size()) > std::min(cores.count(), granted);
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::create(const JoinRequest& request,
                                                           const Process& process,
                                                           const std::atomic<bool>& abort) {
  std::unique_ptr<Communicator> comm(new Communicator(request, process));
  if (!request.config.algo.empty()) {
    comm->forced_ = algorithm_named(request.config.algo);
    if (!comm->forced_) {
      return invalid_usage(fmt::format("NCCL_ALGO '{}' is unknown; known are {}",
                                       request.config.algo, algorithm_names()));
    }
  }
  ACCL_TRY(Joiner(*comm, request, process, abort).run());
  comm->oversubscribed_ = more_ranks_than_cores(comm->members_);
  comm->enter();
  ACCL_LOG(kInfo, kInit, "{} rank {} nranks {} device {} ({}; kernels {}) - Init COMPLETE",
           comm->label(), comm->rank_, comm->size_, comm->device_, comm->describe_transports(),
           name_of(comm->isa_));
  return comm;
}

// From here on the others may die, abort or disagree, and this rank hears of it.
void Communicator::enter() {
  const int streams = segment_ ? segment_->streams() : kAloneStreams;
  sends_.resize(static_cast<size_t>(size_) * static_cast<size_t>(streams));
  recvs_.resize(sends_.size());
  engine_.add(this);
  if (!segment_) return;
  std::vector<std::span<const std::byte>> slots;
  slots.reserve(static_cast<size_t>(size_));
  for (Rank r = 0; r < size_; r++) slots.emplace_back(segment_->board(r));
  board_ = Board(slots);
  standstill_ = Standstill(size_);
  board_writer_ = BoardWriter(segment_->board(rank_));
  board_writer_.enter();
  control_->set_callbacks(
      {.on_message =
           [this](Rank from, uint16_t kind, std::span<const std::byte>) {
             if (kind == kAbortMessage) {
               heard_abort(from);
             }
           },
       .on_verdict = [this](Code code, const std::string& text) { fail(Status(code, text)); },
       .on_death =
           [this](Rank rank, const std::string& text) {
             segment_->forget(rank);
             note_death(text);
           }});
}

}  // namespace accl
