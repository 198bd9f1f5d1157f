#include "src/control/remote_board.h"

#include "src/bootstrap/wire.h"

namespace accl {

RemoteBoard::RemoteBoard(int ranks) : pages_(new Page[static_cast<size_t>(ranks)]) {
  for (Rank rank = 0; rank < ranks; rank++) writers_.emplace_back(slot(rank));
}

std::span<std::byte> RemoteBoard::slot(Rank rank) const {
  return pages_[static_cast<size_t>(rank)].bytes;
}

void RemoteBoard::introduce(Rank rank, const BoardIdentity& who) {
  writers_[static_cast<size_t>(rank)].enter(who);
}

void RemoteBoard::told(Rank rank, const CallSignature& call) {
  writers_[static_cast<size_t>(rank)].publish(call);
}

Blob wire_of(const CallSignature& call) {
  WireWriter writer;
  writer.number(call.sequence).number(call.count).number(packed(call));
  return writer.bytes();
}

std::optional<CallSignature> signature_of(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  const auto sequence = reader.number<uint64_t>();
  const auto count = reader.number<uint64_t>();
  const auto word = reader.number<uint64_t>();
  if (!reader.done()) return std::nullopt;
  return unpacked(sequence, count, word);
}

}  // namespace accl
