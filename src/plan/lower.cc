#include "src/plan/lower.h"

#include <utility>

#include "src/plan/fuse.h"

namespace accl {
namespace {

/// Where the values of one chunk lie on this rank.
struct Home {
  Loc own;      ///< this rank's contribution
  Loc partial;  ///< sums on their way to the owner
  Loc result;   ///< the finished value
};

/// The streams that the messages between two ranks take in turn.
struct StreamRange {
  int first = 0;
  int count = 2;
};

Loc finished(Loc loc) {
  loc.final_value = 1;
  return loc;
}

/// Writes the steps of spreads into lanes, and knows where each chunk's newest value is.
class Writer {
 public:
  Writer(Program& program, int ranks, std::vector<Home> homes, StreamRange streams = {})
      : program_(program),
        homes_(std::move(homes)),
        streams_(streams),
        sent_(static_cast<size_t>(ranks)),
        received_(static_cast<size_t>(ranks)) {
    for (const Home& home : homes_) newest_.push_back(home.own);
  }

  /// From here on, steps go to a new lane.
  void open_lane() { program_.lanes.emplace_back(); }

  /// The rank's own chunk becomes a result as it is (gathers).
  void keep(int chunk) { copy(chunk, home(chunk).result); }

  void gather(const Spread& spread) {
    for (const Move& move : spread.moves()) {
      if (move.send) {
        add({.send = send_port(move.peer), .src = newest(move.chunk)});
      } else {
        const Loc result = home(move.chunk).result;
        add({.recv = recv_port(move.peer), .dst = result});
        newest(move.chunk) = result;
      }
    }
  }

  /// The spread backwards.
  void reduce(const Spread& spread) {
    for (auto move = spread.moves().rbegin(); move != spread.moves().rend(); ++move) {
      Loc& sum = newest(move->chunk);
      if (move->send) {
        const Loc partial = home(move->chunk).partial;
        add({.recv = recv_port(move->peer), .src = sum, .dst = partial});
        sum = partial;
      } else {
        add({.send = send_port(move->peer), .src = sum});
      }
    }
  }

  /// The sum of `chunk` is complete: its last store is the finished value.
  void finish(int chunk) {
    const Home& place = home(chunk);
    if (newest(chunk) == place.own) {
      copy(chunk, finished(place.result));
      return;
    }
    Lane& steps = lane();
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (!step->dst.same_place(place.partial)) continue;
      step->dst = finished(place.result);
      break;
    }
    newest(chunk) = place.result;
  }

 private:
  Lane& lane() { return program_.lanes.back(); }
  void add(const Step& step) { lane().push_back(step); }
  const Home& home(int chunk) const { return homes_[static_cast<size_t>(chunk)]; }
  Loc& newest(int chunk) { return newest_[static_cast<size_t>(chunk)]; }

  void copy(int chunk, Loc target) {
    add({.src = newest(chunk), .dst = target});
    newest(chunk) = home(chunk).result;
  }

  int16_t send_port(Rank peer) { return program_.port(peer, stream_of(sent_, peer)); }
  int16_t recv_port(Rank peer) { return program_.port(peer, stream_of(received_, peer)); }
  int stream_of(std::vector<int>& messages, Rank peer) const {
    return streams_.first + messages[static_cast<size_t>(peer)]++ % streams_.count;
  }

  Program& program_;
  std::vector<Home> homes_;
  std::vector<Loc> newest_;
  StreamRange streams_;
  std::vector<int> sent_;  // per peer: messages so far
  std::vector<int> received_;
};

Program program_with(int in_chunks, Layout in_layout, int out_chunks, Layout out_layout) {
  Program program;
  program.in_chunks = in_chunks;
  program.in_layout = in_layout;
  program.out_chunks = out_chunks;
  program.out_layout = out_layout;
  return program;
}

/// Tree t with chunk t alone; the other homes are empty.
Writer tree_writer(Program& program, const Spread& tree, int t, const Home& home) {
  std::vector<Home> homes(static_cast<size_t>(t) + 1);
  homes.back() = home;
  return {program, tree.ranks(), std::move(homes), StreamRange{t, 1}};
}

Program tree_program(std::span<const Spread> trees) {
  const int chunks = static_cast<int>(trees.size());
  return program_with(chunks, Layout::kSplit, chunks, Layout::kSplit);
}

}  // namespace

Program lower_all_gather(Rank rank, const Spread& spread, int streams) {
  const int ranks = spread.ranks();
  Program program = program_with(1, Layout::kOwn, ranks, Layout::kBlocks);
  std::vector<Home> homes;
  homes.reserve(static_cast<size_t>(ranks));
  for (int chunk = 0; chunk < ranks; ++chunk) {
    homes.push_back({.own = in(0), .partial = {}, .result = out(chunk)});
  }
  Writer writer(program, ranks, std::move(homes), {0, streams});
  writer.open_lane();
  writer.keep(rank);
  writer.gather(spread);
  fuse(program);
  return program;
}

Program lower_reduce_scatter(Rank rank, const Spread& spread, int streams) {
  const int ranks = spread.ranks();
  Program program = program_with(ranks, Layout::kBlocks, 1, Layout::kOwn);
  std::vector<Home> homes;
  homes.reserve(static_cast<size_t>(ranks));
  for (int chunk = 0; chunk < ranks; ++chunk) {
    const Loc partial = chunk == rank ? out(0) : scratch(chunk);
    homes.push_back({.own = in(chunk), .partial = partial, .result = out(0)});
  }
  Writer writer(program, ranks, std::move(homes), {0, streams});
  writer.open_lane();
  writer.reduce(spread);
  writer.finish(rank);
  fuse(program);
  return program;
}

Program lower_all_reduce(Rank rank, const Spread& reduction, const Spread& gather) {
  const int ranks = gather.ranks();
  Program program = program_with(ranks, Layout::kSplit, ranks, Layout::kSplit);
  std::vector<Home> homes;
  homes.reserve(static_cast<size_t>(ranks));
  for (int chunk = 0; chunk < ranks; ++chunk) {
    homes.push_back({.own = in(chunk), .partial = out(chunk), .result = out(chunk)});
  }
  Writer writer(program, ranks, std::move(homes));
  writer.open_lane();
  writer.reduce(reduction);
  writer.finish(rank);
  writer.gather(gather);
  fuse(program);
  return program;
}

Program lower_broadcast(std::span<const Spread> trees) {
  Program program = tree_program(trees);
  for (int t = 0; t < program.in_chunks; ++t) {
    const Spread& tree = trees[static_cast<size_t>(t)];
    Writer writer = tree_writer(program, tree, t, {.own = in(t), .partial = {}, .result = out(t)});
    writer.open_lane();
    if (tree.is_source()) writer.keep(t);
    writer.gather(tree);
  }
  fuse(program);
  return program;
}

Program lower_reduce(std::span<const Spread> trees) {
  Program program = tree_program(trees);
  for (int t = 0; t < program.in_chunks; ++t) {
    const Spread& tree = trees[static_cast<size_t>(t)];
    const Loc partial = tree.is_source() ? out(t) : scratch(t);
    Writer writer =
        tree_writer(program, tree, t, {.own = in(t), .partial = partial, .result = out(t)});
    writer.open_lane();
    writer.reduce(tree);
    if (tree.is_source()) writer.finish(t);
  }
  fuse(program);
  return program;
}

Program lower_all_reduce(std::span<const Spread> trees) {
  Program program = tree_program(trees);
  for (int t = 0; t < program.in_chunks; ++t) {
    const Spread& tree = trees[static_cast<size_t>(t)];
    const Loc partial = tree.is_source() ? out(t) : scratch(t);
    Writer writer =
        tree_writer(program, tree, t, {.own = in(t), .partial = partial, .result = out(t)});
    writer.open_lane();
    writer.reduce(tree);
    // The source turns the value round in one lane: nothing comes back to it.
    if (tree.is_source()) {
      writer.finish(t);
    } else {
      writer.open_lane();
    }
    writer.gather(tree);
  }
  fuse(program);
  return program;
}

}  // namespace accl
