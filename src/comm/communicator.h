// A rank's membership in a group of ranks: its connections, plans, queue of operations and fate.
//
// Made by `Communicator::create` (init.cc), owned by its handle (src/api/handles.h) and by each
// operation that a stream still holds. Operations run in the order in which they were submitted,
// one at a time, by whoever has borrowed the communicator (engine/driven.h). `prepare`, `submit`
// and `release` may be called by any thread; the first failure poisons the communicator for good.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/comm/hosts.h"
#include "src/comm/member.h"
#include "src/comm/scalar.h"
#include "src/config/config.h"
#include "src/control/board.h"
#include "src/control/control.h"
#include "src/control/remote_board.h"
#include "src/control/standstill.h"
#include "src/engine/driven.h"
#include "src/engine/engine.h"
#include "src/engine/executor.h"
#include "src/engine/operation.h"
#include "src/engine/patience.h"
#include "src/engine/recorder.h"
#include "src/tuner/choice.h"
#include "transport/shm/segment.h"
#include "transport/transport.h"

namespace accl {

/// The operators of a call, numbered as ncclRedOp_t: five built in, pre-multiplied sums from here.
inline constexpr int kOpSum = 0;
inline constexpr int kOpAvg = 4;
inline constexpr int kFirstUserOp = 5;
inline constexpr size_t kMaxUserOps = 4096;
/// Calls up to this size travel in the FIFOs' cache lines, by the shortest path through the
/// library.
inline constexpr size_t kSmallMessageBytes = 4096;

/// A collective call, its arguments checked.
struct CollectiveCall {
  Collective collective = Collective::kAllReduce;
  const void* in = nullptr;
  void* out = nullptr;
  size_t count = 0;
  DataType type = DataType::kInt8;
  int op = kOpSum;  ///< of a reduction
  Rank root = 0;
  Scalar scalar;  ///< of a user-made operator, which may be gone when the call's turn comes
};

/// A send or a receive.
struct PointToPointCall {
  bool send = false;
  void* data = nullptr;
  size_t bytes = 0;
  Rank peer = 0;
};

class Sockets;
namespace shm {
struct Link;
}

class Communicator final : public Driven {
 public:
  /// Joins the ranks that share `id`. Blocks, at most for the configured init time-out; returns an
  /// error early when `abort` becomes true.
  static Result<std::unique_ptr<Communicator>> create(const JoinRequest& request,
                                                      const Process& process,
                                                      const std::atomic<bool>& abort);
  ~Communicator() override;

  Rank rank() const { return rank_; }
  int size() const { return size_; }
  int device() const { return device_; }
  const std::string& name() const { return name_; }
  const Config& config() const { return config_; }

  /// Ok, or the first failure. `failed` is the cheap question.
  Status failure() const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// Poisons the communicator: every operation ends with this error. The first one wins.
  void fail(Status error);
  /// Fails the communicator once a peer has been dead for a moment. Called by the calls of the API
  /// and by whoever waits.
  void check_peers() {
    if (dead_since_ns_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      fail_if_orphaned();
  }
  /// fail(), and the peers hear of it: they would wait for this rank in vain.
  void fail_and_tell(Status error);
  /// A stream has failed with an operation of this communicator; it is usable again after `close`
  /// by whoever ends the communicator (take_failed_streams).
  void note_failed_stream(cudaStream_t stream);
  std::vector<cudaStream_t> take_failed_streams();
  /// fail() for the user's ncclCommAbort: tells the peers as well, and waits for nobody.
  void abort();
  /// Ends everything that is queued, after fail(). Waits at most a second for a borrower to let go.
  void fail_queued();
  /// Waits until all submitted operations are done or have failed.
  Status drain();

  /// Makes an operation ready to be submitted: plan, connections, buffers.
  Result<Operation*> prepare(const CollectiveCall& call);
  /// All the sends and receives that a group has for this communicator, as one operation.
  Result<Operation*> prepare(std::span<const PointToPointCall> calls);
  /// Queues it. It runs when no stream is awaited any more, after the operations before it.
  void submit(Operation* operation);
  /// Gives back an operation that is done, or was never submitted.
  void release(Operation* operation);
  enum class Small {
    kNotNow,  ///< nothing has happened: go the long way
    kDone,
    kFailed,  ///< failure() says why
    kLeft,    ///< `bounded` and a peer is late: the operation is queued, *left is it
  };
  /// Runs a small collective at once if nothing stands before it: the shortest path through the
  /// library, without a lock. `bounded`: waits for peers no longer than a spin.
  Small run_small(const CollectiveCall& call, bool bounded, Operation** left);
  /// Leaves the engine and the peers; what is queued must have ended or failed. Idempotent.
  void close();
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  Drive drive() override;
  bool has_work() const override { return queued_.load(std::memory_order_acquire) > 0; }
  void look_around(uint64_t now_ns) override;
  /// There may be work that no caller drives.
  void wake_engine() { engine_.kick(); }
  /// How the threads of this host should wait.
  Patience patience() const { return Patience(oversubscribed_); }

  /// User-made operators (ncclRedOpCreatePreMulSum).
  Result<int> add_scalar(const Scalar& scalar);
  Status remove_scalar(int op);
  /// Ok if `call`'s operator may be used with its type here; fetches a user-made one's scalar.
  Status check_op(CollectiveCall& call) const;

  /// "self: rank 0, shm: ranks 1-3", for logs and tests.
  std::string describe_transports() const;
  /// "communicator 1a2b3c4d", with the user's name for it if there is one: the same on all ranks.
  std::string label() const;
  /// Copy of the newest record.
  Record newest_record() const { return recorder_.newest(); }

  /// References: one for the handle, one for each operation on a stream.
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  static void drop(Communicator* communicator);

 private:
  friend class Joiner;
  struct CachedPlan {
    Rank root;
    std::unique_ptr<Plan> plan;
  };

  Communicator(const JoinRequest& request, const Process& process);
  void enter();
  std::span<std::byte> board_slot(Rank rank) const;
  void make_board();

  // plans.cc
  Result<Plan*> plan_for(Collective collective, size_t bytes, Rank root);
  Result<std::unique_ptr<Plan>> make_plan(Collective collective, size_t bytes, Rank root);
  static void scale(Operation& op, const Scalar& scalar);
  static void set_scale(Arithmetic& math, const Scalar& scalar);
  Arithmetic builtin_arithmetic(const CollectiveCall& call) const;
  Status bind(Plan& plan);
  void report(const Plan& plan, size_t bytes) const;
  void report_unfit(Collective collective);
  void fill(Operation& op, const CollectiveCall& call, Plan& plan, const Arithmetic& math);

  void grow_small();
  void publish_small(std::atomic<Plan*>& place, Plan* plan);

  // connect.cc
  Result<SendEnd*> send_end(Rank peer, int stream);
  Result<RecvEnd*> recv_end(Rank peer, int stream);
  TransportKind transport(Rank peer) const;
  int streams() const { return size_ == 1 ? kAloneStreams : shm::kStreams; }
  size_t end_index(Rank peer, int stream) const {
    return static_cast<size_t>(peer) * static_cast<size_t>(streams()) + static_cast<size_t>(stream);
  }
  shm::Link memory_link(Rank peer, bool sends, int stream);
  Status open_segment_alone();

  // look_around.cc
  void find_trouble(uint64_t now_ns);
  bool find_mismatch(const Operation& op, uint64_t waited_ns);
  bool find_wrong_size(const Operation& op);
  bool find_dead_peer(const Operation& op, uint64_t now_ns);
  void tell_call(const CallSignature& call);
  void heard_call(Rank from, std::span<const std::byte> payload);
  bool find_standstill(const Operation& op, uint64_t now_ns);
  void report_late(const Operation& op, uint64_t waited_ns);

  Plan* small_plan(const CollectiveCall& call) const;
  void queue_current(Operation& op);
  void note_death(const std::string& text);
  void heard_abort(Rank from);
  void forget(Rank rank);
  std::string death_text() const;
  void fail_if_orphaned();
  void begin(Operation& op);
  Advance advance(Operation& op);
  static void await_return(Operation& op);
  void end(Operation& op);
  void finish_head(Operation& op);
  Operation* take_free(bool p2p);
  void put_back(Operation* op);
  const Scalar* find_scalar(int op) const;
  int user_op(size_t index) const { return op_base_ + static_cast<int>(index); }

  static constexpr uint16_t kAbortMessage = 1;  // flooded by ncclCommAbort
  static constexpr uint16_t kCallMessage = 2;   // what a rank waits in, for those of other hosts
  static constexpr int kAloneStreams = 8;       // of a communicator with a single rank

  /// The operation that the borrower works on; null: none.
  const Operation* borrowed_operation() const { return current_; }

  const Config config_;
  const Process process_;
  Engine& engine_;
  Rank rank_;
  int size_;
  int device_;
  std::string name_;
  std::string key_;  // names the unique id in public
  bool oversubscribed_ = false;
  std::optional<Algorithm> forced_;
  Isa isa_;
  std::vector<Member> members_;
  Hosts hosts_;

  std::vector<std::shared_ptr<const shm::PeerPool>> pools_;  // by rank; null within the process
  // Of the ranks of this host; none on a host with one rank, until it sends to itself.
  std::shared_ptr<shm::CommSegment> segment_;
  std::unique_ptr<RemoteBoard> remote_board_;  // null if there is one host
  std::shared_ptr<Sockets> sockets_;           // to other hosts; null for a single rank
  Board board_;
  BoardWriter board_writer_;
  std::unique_ptr<Control> control_;  // null for a single rank
  std::vector<Transfer> transfers_;   // of the group at hand

  // Connections and plans, made on demand. Guarded by mutex_.
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<SendEnd>> sends_;  // [peer * streams + stream]
  std::vector<std::unique_ptr<RecvEnd>> recvs_;
  std::array<std::array<std::vector<CachedPlan>, kSizeClasses>, kCollectives> plans_;
  // The plans that run_small may use without the lock; root 0 only.
  static constexpr int kSmallClasses = 13;  // up to kSmallMessageBytes
  std::array<std::array<std::atomic<Plan*>, kSmallClasses>, kCollectives> small_plans_{};
  uint32_t next_plan_id_ = 1;
  std::array<bool, kCollectives> unfit_told_{};  // NCCL_ALGO cannot do the collective
  std::vector<std::unique_ptr<Operation>> pool_;
  Operation* free_ = nullptr;
  Operation* free_p2p_ = nullptr;
  Room room_;        // of every operation that is taken
  Room small_room_;  // of small_
  std::vector<std::optional<Scalar>> scalars_;
  const int op_base_;  // differs between communicators, so that foreign operators show

  // The queue. Pushed under mutex_; popped under mutex_ by the borrower.
  std::atomic<int> queued_{0};
  Operation* head_ = nullptr;
  Operation* tail_ = nullptr;

  // The borrower's.
  Operation* current_ = nullptr;  // begun and not finished
  uint64_t sequence_ = 0;         // collectives begun
  uint64_t operations_ = 0;       // operations begun
  Operation* small_ = nullptr;    // run_small's, from the pool
  Recorder recorder_;
  uint64_t head_waits_since_ns_ = 0;
  uint64_t next_death_check_ns_ = 0;
  uint64_t broken_since_ns_ = 0;  // when a connection was found to be lost
  Standstill standstill_;
  bool late_reported_ = false;
  bool wait_told_ = false;  // on the board, since this operation began
  bool mismatch_proposed_ = false;

  mutable std::mutex failure_mutex_;
  Status failure_;
  std::vector<cudaStream_t> failed_streams_;
  std::atomic<bool> failed_{false};
  std::string death_text_;                  // guarded by failure_mutex_
  std::atomic<uint64_t> told_sequence_{0};  // the last operation that other hosts were told of
  std::atomic<uint64_t> dead_since_ns_{0};  // when a peer's death was heard of; 0: all live
  std::atomic<bool> closed_{false};
  std::atomic<int> references_{1};
};

}  // namespace accl
