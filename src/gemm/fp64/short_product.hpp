// SPDX-License-Identifier: Apache-2.0
// Products with up to four values of k: what is asked.
#pragma once
#include <antiphase/core/divider.hpp>
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>
#include <cstdint>

#include "src/gemm/operands/ending.hpp"

namespace antiphase::gemms {

constexpr int short_k = 4;  // the longest K of such a product

// A lane has 4 columns of C and walks down its rows, 2 at a time. Some lanes of a warp lie side by side, the
// others below: narrow results keep all of them busy, too. Neighbouring lanes have neighbouring columns, so
// that they store neighbours wherever rows begin.
constexpr int short_warps = 4, short_rows = 2, short_columns = 4;
// Outputs of a block whose lanes take so many rounds.
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
  std::int32_t k, lane_bits, steps;  // lane_bits: of the lanes side by side, the logarithm
  bool stacked;                      // the rows of all members count on, and a lane may meet several members
  divider tiles_down, tiles_across;  // of a member; stacked: of all
  std::int64_t count;                // of members
  ending end;
};

struct short_instance {
  bool finishes;  // knows epilogues
  kernel code;
};

}  // namespace antiphase::gemms
