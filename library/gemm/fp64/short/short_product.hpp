// SPDX-License-Identifier: Apache-2.0
// Products with K of up to four: the problem, and the values that select a kernel.
#pragma once
#include <antiphase/core/divider.hpp>
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>
#include <cstdint>

#include "library/gemm/operands/finish/ending.hpp"

namespace antiphase::gemms {

constexpr int short_k = 4;  // the longest K of such a product

// A lane has 4 columns of C and walks down its rows, 2 at a time. The lanes of a warp form a grid, as wide as
// C needs, so that narrow results keep all of them busy too. Adjacent lanes have adjacent columns, so that
// stores are coalesced wherever rows begin.
constexpr int short_warps = 4, short_rows = 2, short_columns = 4;
// Outputs of a block whose lanes take `rounds` steps.
constexpr extent2 short_tile(int lane_bits, int rounds) {
  return {short_warps * short_rows * rounds * (32 >> lane_bits), short_columns << lane_bits};
}

struct short_problem {
  members<const float> a, b;
  members<float> c;
  const float* const* a_of;  // arrays of pointers to the members; null: by strides
  const float* const* b_of;
  float* const* c_of;
  std::int64_t rows, columns;
  std::int32_t k, lane_bits, steps;  // lane_bits: log2 of the lanes side by side
  bool stacked;                      // rows are numbered across members, and a lane may have several members'
  divider tiles_down, tiles_across;  // tiles of a member; stacked: of all members
  std::int64_t count;                // members
  ending end;
};

struct short_instance {
  bool finishes;  // applies epilogues
  kernel code;
};

}  // namespace antiphase::gemms
