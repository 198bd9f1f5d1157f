#include "src/bootstrap/join.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <utility>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/bootstrap/rank_list.h"

namespace accl {
namespace {

// The root's time-out names the missing ranks, so it goes first.
constexpr uint64_t kGraceMs = 1'000;
constexpr uint64_t kLookMs = 10;
// Who has made an id listens already; but a route may be late.
constexpr uint64_t kRefusalMs = 3'000;

}  // namespace

Join::Join(Reactor& reactor, std::shared_ptr<Door> door, const JoinOptions& options)
    : reactor_(reactor),
      door_(std::move(door)),
      options_(options),
      host_(host_name()),
      tree_(std::make_shared<TreeWiring>(reactor, door_, options.id.secret())) {}

Join::~Join() = default;

Result<Wiring> Join::run() {
  reactor_.post([self = shared_from_this()] {
    try {
      self->start();
    } catch (const std::bad_alloc&) {
      self->finish(system_error("out of memory"));
    }
  });
  // The reactor keeps the time; this limit is for a reactor that does not run.
  const uint64_t limit_ns = now_ns() + (options_.timeout_ms + 2 * kGraceMs) * kNsPerMs;
  std::unique_lock lock(mutex_);
  while (!result_) {
    const bool aborted = options_.abort != nullptr && options_.abort->load();
    if (aborted || now_ns() > limit_ns) {
      reactor_.post([self = shared_from_this()] { self->release(); });
      if (aborted) return remote_error("initialisation was aborted");
      return system_error(
          "initialisation timed out: the engine's thread did not answer, it hangs or has run out "
          "of memory");
    }
    changed_.wait_for(lock, std::chrono::milliseconds(kLookMs));
  }
  return std::move(*result_);
}

void Join::start() {
  const std::weak_ptr<Join> weak = weak_from_this();
  timer_ = reactor_.after(options_.timeout_ms + kGraceMs, [weak] {
    if (const auto self = weak.lock()) self->out_of_time();
  });
  // The root of the unique id knows more, and tells it if it is in this process.
  const bool root_is_here = options_.id.is_fixed()
                                ? options_.rank == 0
                                : options_.id.contact().door == door_->contact().door;
  if (!root_is_here) {
    reminder_.emplace(reactor_, [this](uint64_t waited_ms) {
      ACCL_LOG(kWarn, kInit, "rank {} of {} has been waiting for {} s {}", options_.rank,
               options_.ranks, waited_ms / 1000, awaited());
    });
  }
  ticket_ = tree_->open();
  dial_root();
}

std::string Join::maker() const {
  if (options_.id.is_fixed()) return options_.id.origin();
  return "the process that made the unique id (" + options_.id.origin() + ")";
}

void Join::dial_root() {
  const bool fixed = options_.id.is_fixed();
  const Dial::Target target{.contact = options_.id.contact(),
                            .secret = options_.id.secret(),
                            .ticket = Door::kRootTicket,
                            .way = options_.tcp_only ? Dial::Way::kTcp : Dial::Way::kAny,
                            // Rank 0 of a fixed id may come as late as any.
                            .patience_ms = fixed ? options_.timeout_ms : kRefusalMs,
                            .service_may_be_late = fixed};
  dial_ = Dial::start(reactor_, target, [weak = weak_from_this()](Result<Connection> connection) {
    const auto self = weak.lock();
    if (!self) return;
    if (connection.ok()) return self->root_connected(std::move(*connection));
    const Status& why = connection.status();
    // Only a refusal says something about the other end.
    if (why.code() == Code::kSystem) {
      return self->finish(
          Status(why.code(), "cannot connect to " + self->maker() + ": " + why.text()));
    }
    self->finish(Status(why.code(), self->maker() +
                                        " does not serve it: it has ended, or it cannot be reached "
                                        "from here (" +
                                        why.text() + ")"));
  });
}

void Join::root_connected(Connection connection) {
  const std::weak_ptr<Join> weak = weak_from_this();
  connection.set_limits(kBootstrapPayloadBytes, false);
  root_ = Link::create(reactor_, std::move(connection));
  Status started = root_->start(
      [weak](const Frame& frame) {
        if (const auto self = weak.lock()) self->root_frame(frame);
      },
      [weak](const Status& cause) {
        if (const auto self = weak.lock()) self->root_lost(cause);
      });
  if (!started.ok()) return finish(std::move(started));
  root_->send(packet_of(Hello{options_.version, options_.rank, options_.ranks, options_.timeout_ms,
                              getpid(), host_, Address{door_->contact(), ticket_}}));
}

void Join::root_lost(const Status& cause) {
  std::string text = maker() + " ended during initialisation";
  if (!cause.ok()) text += ": " + cause.text();
  finish(remote_error(std::move(text)));
}

void Join::root_frame(const Frame& frame) {
  switch (static_cast<BootstrapKind>(frame.kind)) {
    case BootstrapKind::kAssign:
      if (const auto parent = assign_of(frame); parent && !assigned_) return assigned(*parent);
      break;
    case BootstrapKind::kRefuse:
      return finish(refusal_of(frame));
    case BootstrapKind::kComplete:
      if (wired_) return finish(Wiring{options_.rank, options_.ranks, tree_->take()});
      break;
    default:
      break;
  }
  finish(remote_error(maker() + " broke the protocol of initialisation"));
}

void Join::assigned(const Address& parent) {
  assigned_ = true;
  tree_->go(options_.rank, options_.ranks, parent,
            options_.tcp_only ? Dial::Way::kTcp : Dial::Way::kAny,
            [weak = weak_from_this()](Status status) {
              if (const auto self = weak.lock()) self->wired(std::move(status));
            });
}

void Join::wired(Status status) {
  if (status.ok()) {
    wired_ = true;
    return root_->send(packet_of(BootstrapKind::kWired));
  }
  // If the parent is gone the root tells everybody, in better words than ours.
  reactor_.cancel(timer_);
  timer_ = reactor_.after(kGraceMs, [weak = weak_from_this(), text = status.text()] {
    if (const auto self = weak.lock()) {
      self->finish(remote_error("cannot reach " +
                                describe_ranks({tree_parent(self->options_.rank)}) + ": " + text));
    }
  });
}

// What this rank waits for, as far as it knows.
std::string Join::awaited() const {
  if (!root_) return "for an answer from " + maker();
  if (!assigned_) return "for ranks that have not come yet; " + maker() + " warns which";
  if (!wired_) return "for connections with " + describe_ranks(tree_->missing());
  return "for the connections of other ranks; " + maker() + " warns which";
}

void Join::out_of_time() {
  std::string text = "initialisation timed out after " + describe_ms(options_.timeout_ms) + ": ";
  std::string cause = dial_ ? dial_->last_failure() : std::string();
  if (assigned_ && !wired_) {
    text += "waiting for connections with " + describe_ranks(tree_->missing());
    cause = tree_->last_failure();
  } else {
    text += "no answer from " + maker();
  }
  if (!cause.empty()) text += " (" + cause + ")";
  finish(remote_error(std::move(text)));
}

void Join::finish(Result<Wiring> result) {
  if (over_) return;
  release();
  const std::lock_guard lock(mutex_);
  result_.emplace(std::move(result));
  changed_.notify_all();
}

void Join::release() {
  over_ = true;
  reminder_.reset();
  reactor_.cancel(std::exchange(timer_, 0));
  tree_->close();
  if (dial_) dial_->cancel();
  if (root_) root_->close();
}

}  // namespace accl
