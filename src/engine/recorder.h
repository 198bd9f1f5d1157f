// The flight recorder: a fixed ring of 64-byte records per communicator, one per operation.
//
// Written by the thread that has borrowed the communicator, at the start and the end of each
// operation; a few nanoseconds, no allocation. Read by the same thread for reports and by tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/type.h"
#include "src/control/signature.h"
#include "src/engine/plan.h"

namespace accl {

/// Which transports an operation's ports use, as bits of Record::transports.
enum class TransportKind : uint8_t { kSelf = 1, kLocal = 2, kShm = 4, kSocket = 8 };
inline constexpr TransportKind kTransportKinds[] = {TransportKind::kSelf, TransportKind::kLocal,
                                                    TransportKind::kShm, TransportKind::kSocket};
/// "self", "local" (within a process), "shm", "socket".
constexpr std::string_view name_of(TransportKind kind) {
  if (kind == TransportKind::kSelf) return "self";
  if (kind == TransportKind::kSocket) return "socket";
  return kind == TransportKind::kLocal ? "local" : "shm";
}

enum class RecordState : uint8_t { kNone, kRunning, kDone, kFailed };

struct Record {
  uint64_t sequence = 0;
  uint64_t count = 0;
  uint64_t started_cycles = 0;  ///< of the processor's time stamp counter
  uint64_t ended_cycles = 0;
  uint32_t plan = 0;
  uint32_t signature = 0;
  int32_t root = 0;
  Collective collective = Collective::kAllReduce;
  DataType type = DataType::kInt8;
  uint8_t op = 0;
  Algorithm algorithm = Algorithm::kDirect;
  uint8_t transports = 0;
  RecordState state = RecordState::kNone;
  uint16_t channels = 0;
  uint64_t reserved = 0;
};
static_assert(sizeof(Record) == 64);

/// The processor's counter where that is a few cycles, else 0: records order and measure with it.
inline uint64_t cycles() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return 0;
#endif
}

class Recorder {
 public:
  static constexpr size_t kRecords = 256;

  /// The record of operation number `index` of this communicator's life, being overwritten.
  Record& begin(uint64_t index) {
    last_ = index;
    return records_[index % kRecords];
  }
  /// The newest record; all zero before the first operation.
  const Record& newest() const { return records_[last_ % kRecords]; }
  const std::array<Record, kRecords>& all() const { return records_; }

 private:
  std::array<Record, kRecords> records_{};
  uint64_t last_ = 0;
};

}  // namespace accl
