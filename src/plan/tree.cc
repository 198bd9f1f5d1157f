// The binary tree is in order: place 0 on top with a single child, odd places are leaves. Its
// mirror image or shift makes the leaves inner nodes and is the second tree of P. Sanders, J.
// Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// 2009.
#include <array>
#include <bit>

#include "src/plan/algorithms.h"

namespace accl {
namespace {

constexpr int kNobody = -1;

struct Neighbours {
  int parent = kNobody;
  std::array<int, 2> children = {kNobody, kNobody};
};

Neighbours neighbours_in_tree(int place, int places) {
  Neighbours near;
  if (place == 0) {
    if (places > 1) near.children[0] = static_cast<int>(std::bit_floor(unsigned(places - 1)));
    return near;
  }
  // A place stands over the `reach - 1` places on either side of it, as far as they exist.
  const int reach = place & -place;
  near.parent = (place - reach) | (2 * reach);
  if (near.parent >= places) near.parent = place - reach;
  if (reach > 1) near.children[0] = place - reach / 2;
  for (int right = reach / 2; right > 0; right /= 2) {
    if (place + right >= places) continue;
    near.children[1] = place + right;
    break;
  }
  return near;
}

/// `rank_of` turns a place of the tree into a rank.
template <class F>
void add_tree(Spread& spread, const Neighbours& near, int chunk, F rank_of) {
  if (near.parent != kNobody) spread.recv(rank_of(near.parent), chunk);
  for (const int child : near.children) {
    if (child != kNobody) spread.send(rank_of(child), chunk);
  }
}

/// Place of `number` in the second tree over `places`, and the reverse of it.
int second_tree_place(int number, int places) {
  return places % 2 == 0 ? places - 1 - number : (number + places - 1) % places;
}
int number_at_second_tree_place(int place, int places) {
  return places % 2 == 0 ? places - 1 - place : (place + 1) % places;
}

/// Tree `tree` over the numbers 0..places-1, which are ranks counted from `base`.
void add_one_of_two(Spread& spread, int number, int places, int tree, Rank base) {
  if (tree == 0) {
    add_tree(spread, neighbours_in_tree(number, places), 0, [&](int p) { return base + p; });
    return;
  }
  const int place = second_tree_place(number, places);
  add_tree(spread, neighbours_in_tree(place, places), 1,
           [&](int p) { return base + number_at_second_tree_place(p, places); });
}

}  // namespace

Spread tree_spread(Rank rank, int ranks, Rank root, int chunk) {
  Spread spread(ranks);
  const int place = (rank - root + ranks) % ranks;
  add_tree(spread, neighbours_in_tree(place, ranks), chunk, [&](int p) { return root + p; });
  return spread;
}

Spread double_tree_spread(Rank rank, int ranks, int tree) {
  Spread spread(ranks);
  add_one_of_two(spread, rank, ranks, tree, 0);
  return spread;
}

Spread rooted_double_tree_spread(Rank rank, int ranks, Rank root, int tree) {
  Spread spread(ranks);
  const int others = ranks - 1;
  if (others == 0) return spread;
  const int top = tree == 0 ? 0 : number_at_second_tree_place(0, others);
  if (rank == root) {
    spread.send(root + 1 + top, tree);
    return spread;
  }
  const int number = (rank - root - 1 + ranks) % ranks;
  if (number == top) spread.recv(root, tree);
  add_one_of_two(spread, number, others, tree, root + 1);
  return spread;
}

}  // namespace accl
