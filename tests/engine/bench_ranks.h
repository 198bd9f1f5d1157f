// Several ranks in one thread, joined by real stream ends: for tests of the executor.
#pragma once

#include <memory>
#include <vector>

#include "src/engine/executor.h"
#include "src/engine/operation.h"
#include "src/plan/algorithms.h"
#include "transport/local/local.h"
#include "transport/shm/segment.h"
#include "transport/shm/shm.h"

namespace accl {

/// Plans of all ranks over one segment. `by_reference`: in-process ends, which lend large messages;
/// otherwise the ends that copy, as between processes.
class BenchRanks {
 public:
  explicit BenchRanks(int ranks, bool by_reference)
      : by_reference_(by_reference),
        pool_(std::move(*shm::StagingPool::create())),
        segment_(std::move(*shm::CommSegment::create(ranks))) {}

  std::unique_ptr<Plan> plan(const ProgramSpec& spec, int channels, size_t chunk_bytes) {
    auto made = std::make_unique<Plan>();
    made->collective = spec.collective;
    made->algorithm = spec.algorithm;
    made->channels = channels;
    made->chunk_bytes = chunk_bytes;
    made->copies = needs_copies(spec, true);
    made->program = std::move(*make_program(spec));
    const int streams = made->program.streams();
    for (int c = 0; c < channels; c++) {
      for (const Port& port : made->program.ports) {
        const int stream = 1 + c * streams + port.stream;
        sends_.push_back(open_send(spec.rank, port.peer, stream));
        recvs_.push_back(open_recv(port.peer, spec.rank, stream));
        made->sends.push_back(sends_.back().get());
        made->recvs.push_back(recvs_.back().get());
      }
    }
    made->scratch.reset(new std::byte[static_cast<size_t>(made->program.scratch_chunks) *
                                          static_cast<size_t>(channels) * chunk_bytes +
                                      1]);
    return made;
  }

  /// Advances all until all are done; false: nobody moves any more.
  static bool run(const std::vector<Operation*>& operations) {
    std::vector<bool> done(operations.size());
    for (size_t left = operations.size(), idle = 0; left > 0; idle++) {
      if (idle > 1000) return false;
      for (size_t i = 0; i < operations.size(); i++) {
        if (done[i]) continue;
        const Advance step = advance(*operations[i]);
        if (step != Advance::kBlocked) idle = 0;
        if (step != Advance::kDone) continue;
        done[i] = true;
        left--;
      }
    }
    return true;
  }

 private:
  shm::Link link(Rank from, Rank to, int stream) {
    return {.segment = segment_, .from = from, .to = to, .stream = stream, .pool = pool_.get()};
  }
  std::unique_ptr<SendEnd> open_send(Rank from, Rank to, int stream) {
    if (by_reference_) return std::move(*local::open_send(link(from, to, stream)));
    return std::make_unique<shm::SendEnd>(ready(link(from, to, stream)), Doorbell());
  }
  std::unique_ptr<RecvEnd> open_recv(Rank from, Rank to, int stream) {
    if (by_reference_) return std::move(*local::open_recv(link(from, to, stream)));
    return std::make_unique<shm::RecvEnd>(ready(link(from, to, stream)), pool_->data(),
                                          pool_->size(), Doorbell());
  }
  shm::Link ready(shm::Link made) {
    static_cast<void>(segment_->populate_fifo(made.to, made.from, made.stream));
    return made;
  }

  bool by_reference_;
  std::unique_ptr<shm::StagingPool> pool_;
  std::shared_ptr<shm::CommSegment> segment_;
  std::vector<std::unique_ptr<SendEnd>> sends_;
  std::vector<std::unique_ptr<RecvEnd>> recvs_;
};

}  // namespace accl
