// SPDX-License-Identifier: Apache-2.0
// Predicted times of kernels whose blocks own rows of one side, of queries or of keys, and walk over tiles of
// the other: ours and torch's.
#pragma once
#include <cstdint>

#include "library/attention/members.hpp"
#include "library/costs/models.hpp"

namespace antiphase::attentions {

struct tile_walk {
  int own, other;  // rows of a block, and of a tile of the other side
  bool owns_keys = false;
};
struct walked_call {
  double heads;  // of all members, of the side whose rows are owned
  std::int64_t queries, keys;
  reach sees;
  double depth;
  bool biased;       // a bias is added, or pairs are hidden one by one
  double group = 1;  // heads of the other side that a block walks over
};
// In seconds: until the first block begins, of the longest block, and of all blocks side by side.
struct walk_times {
  double start, longest, all;
};
walk_times times_of(const costs::tile_walk_cost& cost, const tile_walk& by, const walked_call& call,
                    int multiprocessors);
double seconds_of(const costs::tile_walk_cost& cost, const tile_walk& by, const walked_call& call,
                  int multiprocessors);

}  // namespace antiphase::attentions
