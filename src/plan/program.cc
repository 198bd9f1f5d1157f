#include "src/plan/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace accl {

int16_t Program::port(Rank peer, int stream) {
  const Port wanted{peer, static_cast<uint16_t>(stream)};
  // From the back: an algorithm mostly talks to the peer that it named last.
  const auto found = std::find(ports.rbegin(), ports.rend(), wanted);
  if (found != ports.rend()) {
    return static_cast<int16_t>(std::distance(found, ports.rend()) - 1);
  }
  ports.push_back(wanted);
  return static_cast<int16_t>(ports.size() - 1);
}

int Program::streams() const {
  int streams = 0;
  for (const Port& port : ports) streams = std::max(streams, port.stream + 1);
  return streams;
}

std::string to_string(const Loc& loc) {
  if (!loc) return "nothing";
  const char* names[] = {"", "in", "out", "scratch"};
  return fmt::format("{}[{}]{}", names[loc.buffer], static_cast<unsigned>(loc.chunk),
                     loc.final_value ? " final" : "");
}

std::string to_string(const Step& step, const Program& program) {
  const auto port_name = [&](int16_t port) {
    const Port& end = program.ports[static_cast<size_t>(port)];
    return fmt::format("{}/{}", end.peer, end.stream);
  };
  std::string text;
  if (step.recv >= 0) text = "recv " + port_name(step.recv);
  if (step.src) {
    const std::string source = to_string(step.src);
    if (text.empty()) {
      text = source;
    } else {
      text = step.src.left ? source + " (+) " + text : text + " (+) " + source;
    }
  }
  if (text.empty()) text = "nothing";
  if (step.dst) text += " -> " + to_string(step.dst);
  if (step.send >= 0) text += " -> send " + port_name(step.send);
  return text;
}

}  // namespace accl
