// A program bound to one communicator's connections: what the executor walks.
//
// The program's lanes lie one after another in `steps`, `channels` copies of it run on their own
// streams, copy c doing rounds c, c + channels, ... of a call that is longer than one round: that
// is how hand-over latency is hidden. Owned by a communicator, immutable once made, driven by
// whoever has borrowed the communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/plan/algorithms.h"
#include "src/plan/program.h"
#include "transport/transport.h"

namespace accl {

struct Plan {
  uint32_t id = 0;  ///< number within the communicator, as records and logs name it
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kDirect;
  Rank root = 0;
  int channels = 1;
  uint8_t transports = 0;  ///< TransportKind bits of its ports
  size_t chunk_bytes = 0;  ///< largest message, and the size of a scratch chunk
  bool buffers = false;    ///< some of `sends` do: the operation waits until they have settled
  bool copies = false;     ///< messages must be copied, never lent (`needs_copies`)
  Program program;
  std::vector<SendEnd*> sends;  ///< [channel * ports + port]; null where the port only receives
  std::vector<RecvEnd*> recvs;
  std::unique_ptr<std::byte[]> scratch;  ///< [channel][scratch chunk][chunk_bytes]

  size_t ports() const { return program.ports.size(); }
  size_t lanes() const { return program.lanes.size() * static_cast<size_t>(channels); }
};

}  // namespace accl
