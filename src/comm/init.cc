// How a communicator comes to be: the ranks meet, agree, and share the memory they talk through.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/bootstrap/messages.h"
#include "src/bootstrap/rank_list.h"
#include "src/comm/communicator.h"
#include "src/comm/sockets.h"

namespace accl {
namespace {

constexpr int kMaxCores = 1024;
constexpr const char* kVersionText = "2.27.7";

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
      comm_.hosts_ = group_hosts({mine.memory});
      return {};
    }
    ACCL_TRY(meet());
    Status here = open_services(&mine);
    if (Status status = agree(here); !status.ok()) return status;
    here = exchange(mine);
    if (here.ok()) here = check_members();
    if (Status status = agree(here); !status.ok()) return status;
    return agree(share_memory());
  }

 private:
  Member introduce() const {
    const int pid = getpid();
    const Config& config = request_.config;
    return {.device = comm_.device_,
            .pid = pid,
            .machine = machine_tag(),
            .start_time = process_start_time(pid),
            .pid_namespace = pid_namespace(),
            .process = process_.token,
            .cores = usable_cores(),
            .granted_cores = granted_cores(),
            .host = this_host(),
            .algorithm = config.algo,
            .memory = memory_key(config, process_.token, comm_.rank_),
            .p2p_disable = config.p2p_disable,
            .connections = static_cast<int>(config.socket_nthreads * config.nsocks_perthread),
            .contact = process_.bootstrap.contact()};
  }

  Status meet() {
    const auto timeout_ms = static_cast<uint64_t>(request_.config.init_timeout_ms);
    deadline_ns_ = now_ns() + timeout_ms * kNsPerMs;
    Wiring wiring = ACCL_TRY(process_.bootstrap.join({.id = request_.id,
                                                      .rank = comm_.rank_,
                                                      .ranks = comm_.size_,
                                                      .timeout_ms = timeout_ms,
                                                      .abort = &abort_,
                                                      .version = kVersionText}));
    comm_.control_ = ACCL_TRY(Control::start(process_.engine.reactor(), std::move(wiring)));
    comm_.control_->set_patience(deadline_ns_, &abort_);
    return {};
  }

  // Before the others know how to, they cannot come; so everything is open when they do.
  Status open_services(Member* mine) {
    tree_ = ACCL_TRY(process_.bootstrap.open_tree(request_.id.secret()));
    mine->tree_ticket = tree_->ticket();
    comm_.sockets_ =
        std::make_shared<Sockets>(process_.bootstrap, request_.id.secret(), comm_.rank_);
    mine->data_ticket = ACCL_TRY(comm_.sockets_->open());
    return {};
  }

  Status exchange(const Member& mine) {
    std::vector<Token> keys;
    for (const Blob& given : ACCL_TRY(comm_.control_->all_gather(pack(mine)))) {
      comm_.members_.push_back(ACCL_TRY(unpack_member(given)));
      keys.push_back(comm_.members_.back().memory);
    }
    comm_.hosts_ = group_hosts(keys);
    comm_.pools_.resize(comm_.members_.size());
    if (comm_.hosts_.count() > 1) {
      comm_.sockets_->start(comm_.members_, comm_.streams());
    } else {
      comm_.sockets_->close();
    }
    return {};
  }

  // The ranks of this host meet in a tree of their own, over which descriptors travel.
  Status share_memory() {
    const std::vector<Rank>& here = comm_.hosts_.around(comm_.rank_);
    if (here.size() == 1) return {};
    const Rank place = comm_.hosts_.place[static_cast<size_t>(comm_.rank_)];
    const Rank parent = here[static_cast<size_t>(tree_parent(place))];
    const Member& above = comm_.members_[static_cast<size_t>(parent)];
    Wiring wiring =
        ACCL_TRY(process_.bootstrap.wire(*tree_, {.rank = place,
                                                  .ranks = static_cast<int>(here.size()),
                                                  .parent = above.contact,
                                                  .parent_ticket = above.tree_ticket,
                                                  .deadline_ns = deadline_ns_,
                                                  .abort = &abort_}));
    const std::unique_ptr<Control> host =
        ACCL_TRY(Control::start(process_.engine.reactor(), std::move(wiring)));
    host->set_patience(deadline_ns_, &abort_);
    Status shared = share_segment(*host, static_cast<int>(here.size()));
    if (shared.ok()) shared = share_pools(*host, here);
    return shared;
  }

  // The first rank of the host makes the memory that all map. Its refusal reaches the others as a
  // text.
  Status share_segment(Control& host, int ranks) {
    if (host.rank() == 0) {
      auto made = process_.segments.create(ranks);
      if (!made.ok()) {
        static_cast<void>(host.broadcast(text_blob(made.status().text()), {}));
        return std::move(made.status());
      }
      comm_.segment_ = std::move(*made);
      const std::array<int, 1> fds = {comm_.segment_->fd()};
      static_cast<void>(ACCL_TRY(host.broadcast({}, fds)));
      return {};
    }
    Contribution given = ACCL_TRY(host.broadcast({}, {}));
    if (given.fds.size() != 1) {
      const Rank first = comm_.hosts_.around(comm_.rank_).front();
      return system_error(fmt::format("rank {} could not make the shared memory: {}", first,
                                      blob_text(given.blob)));
    }
    comm_.segment_ = ACCL_TRY(process_.segments.map(std::move(given.fds[0]), ranks));
    return {};
  }

  Status share_pools(Control& host, const std::vector<Rank>& here) {
    const std::array<int, 2> fds = {process_.staging.fd(), process_.staging.eventfd()};
    auto all = ACCL_TRY(host.all_gather({}, fds));
    for (size_t place = 0; place < all.size(); place++) {
      std::vector<Fd>& given = all[place].fds;
      const Rank rank = here[place];
      if (comm_.transport(rank) != TransportKind::kShm) continue;
      if (given.size() != 2) return remote_error("a peer sent no staging memory");
      comm_.pools_[static_cast<size_t>(rank)] =
          ACCL_TRY(process_.pools.open(std::move(given[0]), std::move(given[1])));
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
    if (!all.ok()) {
      tell_if_aborted();
      return mine.ok() ? std::move(all.status()) : mine.copy();
    }
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

  // The others would wait for this rank, or go on without knowing that it will never come.
  void tell_if_aborted() const {
    if (!abort_.load()) return;
    comm_.control_->report_death(comm_.rank_, describe_process(comm_.rank_, getpid(), this_host()) +
                                                  " was aborted during initialisation");
  }

  Communicator& comm_;
  const JoinRequest& request_;
  const Process& process_;
  const std::atomic<bool>& abort_;
  uint64_t deadline_ns_ = 0;
  std::unique_ptr<Bootstrap::Tree> tree_;
};

namespace {

std::string algorithm_names() {
  std::string names;
  for (int i = 0; i < kAlgorithms; i++) {
    names += fmt::format("{}{}", i > 0 ? ", " : "", name_of(static_cast<Algorithm>(i)));
  }
  return names;
}

struct Crowd {
  int ranks = 0;
  int cores = 0;  // that they may use, all together
};

// On this machine; what the settings call different hosts may be one.
Crowd crowd_around(const Member& here, const std::vector<Member>& members) {
  CoreSet cores;
  int granted = kMaxCores;
  int ranks = 0;
  for (const Member& member : members) {
    if (member.machine != here.machine) continue;
    ranks++;
    cores.add(member.cores);
    if (member.granted_cores > 0) granted = std::min(granted, member.granted_cores);
  }
  return {ranks, std::min(cores.count(), granted)};
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::create(const JoinRequest& request,
                                                           const Process& process,
                                                           const std::atomic<bool>& abort) {
  const std::string& net = request.config.net;
  if (!net.empty() && !form::same_word(net, "Socket")) {
    return invalid_usage(
        fmt::format("NCCL_NET or config.netName '{}': there is no such network; there "
                    "is Socket",
                    net));
  }
  std::unique_ptr<Communicator> comm(new Communicator(request, process));
  if (!request.config.algo.empty()) {
    comm->forced_ = algorithm_named(request.config.algo);
    if (!comm->forced_) {
      return invalid_usage(fmt::format("NCCL_ALGO '{}' is unknown; known are {}",
                                       request.config.algo, algorithm_names()));
    }
  }
  ACCL_TRY(Joiner(*comm, request, process, abort).run());
  const Crowd crowd =
      crowd_around(comm->members_[static_cast<size_t>(comm->rank_)], comm->members_);
  comm->oversubscribed_ = crowd.ranks > crowd.cores;
  comm->enter();
  ACCL_LOG(kInfo, kInit,
           "{} rank {} nranks {} device {} ({}; cores {}; kernels {}) - Init COMPLETE",
           comm->label(), comm->rank_, comm->size_, comm->device_, comm->describe_transports(),
           crowd.cores, name_of(comm->isa_));
  return comm;
}

// A rank's slot lies in its host's segment; here, if it is of another host.
std::span<std::byte> Communicator::board_slot(Rank rank) const {
  if (segment_ && hosts_.same(rank, rank_)) {
    return segment_->board(hosts_.place[static_cast<size_t>(rank)]);
  }
  return remote_board_->slot(rank);
}

void Communicator::make_board() {
  if (hosts_.count() > 1) remote_board_ = std::make_unique<RemoteBoard>(size_);
  std::vector<std::span<const std::byte>> slots;
  slots.reserve(static_cast<size_t>(size_));
  for (Rank r = 0; r < size_; r++) {
    slots.emplace_back(board_slot(r));
    const Member& member = members_[static_cast<size_t>(r)];
    if (hosts_.same(r, rank_)) continue;
    remote_board_->introduce(
        r, {.pid = member.pid, .start_time = member.start_time, .host = member.host});
  }
  board_ = Board(slots);
  standstill_ = Standstill(size_);
  board_writer_ = BoardWriter(board_slot(rank_));
  board_writer_.enter();
}

// A rank that reads no more: what was sent to it need not be kept.
void Communicator::forget(Rank rank) {
  if (segment_ && hosts_.same(rank, rank_)) {
    segment_->forget(hosts_.place[static_cast<size_t>(rank)]);
  }
}

// From here on the others may die, abort or disagree, and this rank hears of it.
void Communicator::enter() {
  sends_.resize(static_cast<size_t>(size_) * static_cast<size_t>(streams()));
  recvs_.resize(sends_.size());
  engine_.add(this);
  if (!control_) return;
  make_board();
  control_->set_callbacks(
      {.on_message =
           [this](Rank from, uint16_t kind, std::span<const std::byte> payload) {
             if (kind == kAbortMessage) heard_abort(from);
             if (kind == kAbortMessage) forget(from);
             if (kind == kCallMessage) heard_call(from, payload);
           },
       .on_verdict = [this](Code code, const std::string& text) { fail(Status(code, text)); },
       .on_death =
           [this](Rank rank, const std::string& text) {
             forget(rank);
             note_death(text);
           }});
}

}  // namespace accl
