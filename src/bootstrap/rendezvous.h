// The root of one unique id: it collects the hellos of all ranks, tells each its parent in the
// tree, and waits until all are wired. Whatever goes wrong, all ranks that have come or still come
// hear why, in the same words.
//
// Served by the door of the process that made the id; the reactor's thread only. It never ends by
// itself: after its work it is a few bytes that tell late comers that the id has been used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/reactor.h"
#include "src/bootstrap/link.h"
#include "src/bootstrap/messages.h"
#include "src/bootstrap/reminder.h"

namespace accl {

class Rendezvous : public std::enable_shared_from_this<Rendezvous> {
 public:
  explicit Rendezvous(Reactor& reactor) : reactor_(reactor) {}
  ~Rendezvous();

  /// A visitor of the door that has proven to know the secret.
  void welcome(Connection connection);

 private:
  enum class Phase { kCollecting, kWiring, kOver };
  struct Member {
    Hello hello;
    std::shared_ptr<Link> link;
    Reactor::TimerId timer = 0;
    bool wired = false;
  };

  void first_frame(uint64_t number, const Frame& frame);
  void later_frame(Rank rank, const Frame& frame);
  Status check(const Hello& hello) const;
  void assign();
  void complete();
  void time_out(uint64_t timeout_ms);
  std::string missing() const;
  void fail(const Status& why);
  void end();

  Reactor& reactor_;
  Phase phase_ = Phase::kCollecting;
  std::map<uint64_t, std::shared_ptr<Link>> guests_;  ///< have not said hello yet
  uint64_t next_guest_ = 1;
  std::map<Rank, Member> members_;
  std::optional<Reminder> reminder_;  ///< from the first member to the end
  Status outcome_;                    ///< once over: what late comers are told
};

}  // namespace accl
