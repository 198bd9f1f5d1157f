#include "src/plan/print.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace accl {
namespace {

using nlohmann::ordered_json;

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::kSplit:
      return "split";
    case Layout::kBlocks:
      return "blocks";
    case Layout::kOwn:
      return "own";
  }
  return "";
}

std::string describe(Layout layout, int chunks) {
  if (layout == Layout::kOwn) return "one block";
  if (layout == Layout::kBlocks) return fmt::format("{} block{}", chunks, chunks == 1 ? "" : "s");
  if (chunks == 1) return "the whole vector";
  return fmt::format("the vector in {} chunks", chunks);
}

/// Sizes of what steps work on; what lies in scratch is as large as what was stored there.
class Sizes {
 public:
  Sizes(const Program& program, size_t size)
      : program_(program), size_(size), scratch_(static_cast<size_t>(program.scratch_chunks)) {}

  /// To be called for the steps of a lane in their order.
  size_t of(const Step& step) {
    size_t size = size_;
    for (const Loc& loc : {step.src, step.dst}) {
      if (loc.where() == Buffer::kScratch && loc == step.src) size = scratch_[loc.chunk];
      if (loc.where() == Buffer::kIn) size = part(program_.in_layout, program_.in_chunks, loc);
      if (loc.where() == Buffer::kOut) size = part(program_.out_layout, program_.out_chunks, loc);
    }
    if (step.dst.where() == Buffer::kScratch) scratch_[step.dst.chunk] = size;
    return size;
  }

 private:
  size_t part(Layout layout, int chunks, Loc loc) const {
    if (layout != Layout::kSplit) return size_;
    return chunk_range(size_, chunks, static_cast<int>(loc.chunk)).count;
  }

  const Program& program_;
  size_t size_;
  std::vector<size_t> scratch_;
};

ordered_json json_of(const Port& port) { return {{"peer", port.peer}, {"stream", port.stream}}; }

ordered_json json_of(const Step& step, const Program& program) {
  const char* names[] = {"none", "in", "out", "scratch"};
  ordered_json json = ordered_json::object();
  if (step.recv >= 0) json["recv"] = json_of(program.ports[static_cast<size_t>(step.recv)]);
  if (step.src) {
    json["src"] = {{"buffer", names[step.src.buffer]}, {"chunk", unsigned{step.src.chunk}}};
    if (step.recv >= 0) json["src"]["left"] = step.src.left != 0;
  }
  if (step.dst) {
    json["dst"] = {{"buffer", names[step.dst.buffer]},
                   {"chunk", unsigned{step.dst.chunk}},
                   {"final", step.dst.final_value != 0}};
  }
  if (step.send >= 0) json["send"] = json_of(program.ports[static_cast<size_t>(step.send)]);
  return json;
}

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce;
}

}  // namespace

Totals totals(const Program& program, Rank rank, size_t size) {
  Totals sum;
  Sizes sizes(program, size);
  for (const Lane& lane : program.lanes) {
    for (const Step& step : lane) {
      ++sum.steps;
      const size_t bytes = sizes.of(step);
      if (step.send < 0 || program.ports[static_cast<size_t>(step.send)].peer == rank) continue;
      ++sum.messages;
      sum.bytes_sent += bytes;
    }
  }
  return sum;
}

std::string print_table(const Program& program, const ProgramSpec& spec) {
  const Totals sum = totals(program, spec.rank, 0);
  std::string text = fmt::format("rank {} of {}, {} {}", spec.rank, spec.ranks,
                                 name_of(spec.algorithm), name_of(spec.collective));
  if (has_root(spec.collective)) text += fmt::format(" root {}", spec.root);
  text += fmt::format(": {} step{}, {} message{} sent\n", sum.steps, sum.steps == 1 ? "" : "s",
                      sum.messages, sum.messages == 1 ? "" : "s");
  text += fmt::format("  in: {}; out: {}; scratch: {}; streams: {}\n",
                      describe(program.in_layout, program.in_chunks),
                      describe(program.out_layout, program.out_chunks), program.scratch_chunks,
                      program.streams());
  for (size_t lane = 0; lane < program.lanes.size(); ++lane) {
    text += fmt::format("  lane {}\n", lane);
    int number = 0;
    for (const Step& step : program.lanes[lane]) {
      text += fmt::format("  {:4}  {}\n", number++, to_string(step, program));
    }
  }
  return text;
}

std::string print_json(const Program& program, const ProgramSpec& spec) {
  ordered_json json;
  json["collective"] = name_of(spec.collective);
  json["algorithm"] = name_of(spec.algorithm);
  json["ranks"] = spec.ranks;
  json["rank"] = spec.rank;
  json["root"] = spec.root;
  json["groups"] = spec.groups;
  json["in"] = {{"chunks", program.in_chunks}, {"layout", name_of(program.in_layout)}};
  json["out"] = {{"chunks", program.out_chunks}, {"layout", name_of(program.out_layout)}};
  json["scratch_chunks"] = program.scratch_chunks;
  json["streams"] = program.streams();
  json["lanes"] = ordered_json::array();
  for (const Lane& lane : program.lanes) {
    ordered_json steps = ordered_json::array();
    for (const Step& step : lane) steps.push_back(json_of(step, program));
    json["lanes"].push_back(std::move(steps));
  }
  return json.dump();
}

}  // namespace accl
