#include "src/tools/plan_command.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "src/plan/algorithms.h"
#include "src/plan/print.h"
#include "src/tuner/choice.h"

namespace accl {
namespace {

using nlohmann::ordered_json;

std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c == '-' || c == '_') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

std::string names_of_collectives() {
  std::string names;
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (collective == Collective::kPointToPoint) continue;
    if (!names.empty()) names += ", ";
    names += plain(name_of(collective));
  }
  return names;
}

std::string names_of_algorithms(Collective collective) {
  std::string names;
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    if (!supports(algorithm, collective)) continue;
    if (!names.empty()) names += ", ";
    names += name_of(algorithm);
  }
  return names;
}

/// The request, understood.
struct Wanted {
  ProgramSpec spec;
  size_t bytes = 0;
  Choice choice;
  bool chosen = false;  ///< by the tuner
  int cores = 0;
  std::vector<Rank> ranks;
};

Status read_ranks(const PlanRequest& request, Wanted& wanted) {
  if (plain(request.rank) == "all") {
    for (Rank rank = 0; rank < request.ranks; ++rank) wanted.ranks.push_back(rank);
    return {};
  }
  Rank rank = 0;
  const char* end = request.rank.data() + request.rank.size();
  const auto [stop, error] = std::from_chars(request.rank.data(), end, rank);
  if (error != std::errc() || stop != end || rank < 0 || rank >= request.ranks) {
    return invalid_argument(
        fmt::format("--rank {}: must be 0 to {} or all", request.rank, request.ranks - 1));
  }
  wanted.ranks.push_back(rank);
  return {};
}

Status read_algorithm(const PlanRequest& request, Wanted& wanted) {
  ProgramSpec& spec = wanted.spec;
  Situation situation;
  situation.collective = spec.collective;
  situation.bytes = wanted.bytes;
  situation.ranks = spec.ranks;
  situation.oversubscribed = spec.ranks > wanted.cores;
  if (!request.algorithm.empty()) {
    situation.forced = algorithm_named(request.algorithm);
    if (!situation.forced || !supports(*situation.forced, spec.collective)) {
      return invalid_argument(fmt::format("--algo {}: {} can use {}", request.algorithm,
                                          name_of(spec.collective),
                                          names_of_algorithms(spec.collective)));
    }
  }
  wanted.chosen = !situation.forced;
  wanted.choice = choose(situation);
  spec.algorithm = wanted.choice.algorithm;
  return {};
}

Result<Wanted> understand(const PlanRequest& request) {
  Wanted wanted;
  const auto collective = collective_named(request.collective);
  if (!collective) {
    return invalid_argument(fmt::format("unknown collective \"{}\": must be one of {}",
                                        request.collective, names_of_collectives()));
  }
  const auto bytes = parse_bytes(request.bytes);
  if (!bytes) {
    return invalid_argument(
        fmt::format("--bytes {}: must be a whole number, perhaps with K, M or G", request.bytes));
  }
  if (request.ranks < 1) {
    return invalid_argument(fmt::format("--ranks {}: must be 1 or more", request.ranks));
  }
  if (request.cores < 0) {
    return invalid_argument(
        fmt::format("--cores {}: must be 1 or more, or 0 for one per rank", request.cores));
  }
  wanted.bytes = *bytes;
  wanted.cores = request.cores == 0 ? request.ranks : request.cores;
  wanted.spec = {.collective = *collective,
                 .ranks = request.ranks,
                 .root = request.root,
                 .groups = request.groups};
  ACCL_TRY(read_algorithm(request, wanted));
  // All numbers are checked before a list is made of them.
  ACCL_TRY(make_program(wanted.spec));
  ACCL_TRY(read_ranks(request, wanted));
  return wanted;
}

std::string unit_of(Collective collective) {
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return "in each block";
    default:
      return "in the vector";
  }
}

std::string headline(const Wanted& wanted) {
  return fmt::format(
      "{} between {} rank{} on {} core{}, {} bytes {}: {} ({}); {} channel{}, chunks of up "
      "to {} bytes\n"
      "A step receives from PEER/STREAM, combines (+) with a chunk, stores it, "
      "sends it; `final` is "
      "the finished value.\n",
      name_of(wanted.spec.collective), wanted.spec.ranks, wanted.spec.ranks == 1 ? "" : "s",
      wanted.cores, wanted.cores == 1 ? "" : "s", wanted.bytes, unit_of(wanted.spec.collective),
      name_of(wanted.spec.algorithm), wanted.chosen ? "chosen by the tuner" : "as asked for",
      wanted.choice.channels, wanted.choice.channels == 1 ? "" : "s", wanted.choice.chunk_bytes);
}

}  // namespace

std::optional<size_t> parse_bytes(std::string_view text) {
  size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  std::string unit = plain({stop, static_cast<size_t>(end - stop)});
  if (unit.size() > 1 && unit.back() == 'b') unit.pop_back();
  if (unit.size() > 1 && unit.back() == 'i') unit.pop_back();
  const size_t power = std::string_view("bkmgt").find(unit.empty() ? "b" : unit);
  if (unit.size() > 1 || power == std::string_view::npos) return std::nullopt;
  const size_t shift = 10 * power;
  if (number > std::numeric_limits<size_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

std::optional<Collective> collective_named(std::string_view name) {
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (collective == Collective::kPointToPoint) continue;
    if (plain(name_of(collective)) == plain(name)) return collective;
  }
  return std::nullopt;
}

Result<std::string> plan_command(const PlanRequest& request) {
  Wanted wanted = ACCL_TRY(understand(request));
  std::string table = headline(wanted);
  ordered_json json{{"collective", name_of(wanted.spec.collective)},
                    {"algorithm", name_of(wanted.spec.algorithm)},
                    {"chosen_by_tuner", wanted.chosen},
                    {"ranks", wanted.spec.ranks},
                    {"cores", wanted.cores},
                    {"bytes", wanted.bytes},
                    {"channels", wanted.choice.channels},
                    {"chunk_bytes", wanted.choice.chunk_bytes},
                    {"programs", ordered_json::array()}};
  std::string summary = "\nrank  steps  messages  bytes sent\n";
  for (const Rank rank : wanted.ranks) {
    wanted.spec.rank = rank;
    const Program program = ACCL_TRY(make_program(wanted.spec));
    const Totals sum = totals(program, rank, wanted.bytes);
    if (request.json) {
      ordered_json entry = ordered_json::parse(print_json(program, wanted.spec));
      entry["totals"] = {
          {"steps", sum.steps}, {"messages", sum.messages}, {"bytes_sent", sum.bytes_sent}};
      json["programs"].push_back(std::move(entry));
    } else {
      table += "\n";
      table += print_table(program, wanted.spec);
      summary +=
          fmt::format("{:>4} {:>6} {:>9} {:>11}\n", rank, sum.steps, sum.messages, sum.bytes_sent);
    }
  }
  if (request.json) return json.dump(1) + "\n";
  return table + summary;
}

}  // namespace accl
