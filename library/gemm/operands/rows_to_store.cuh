// SPDX-License-Identifier: Apache-2.0
// Coalesced stores of a warp's outputs to C through shared memory, for any alignment of its rows.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/device/warp.cuh>
#include <cstdint>
#include "library/gemm/operands/finish/blend.cuh"
#include "library/gemm/operands/finish/finished.cuh"
#include "library/gemm/operands/tiled/tiled_problem.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// Outputs of `Rows` lines of the long operand times up to 32 of the short one. Fragments of Tensor Cores
// spread a lane's outputs over several lines; through shared memory neighbouring lanes store neighbours, so
// that memory gets whole sectors of 32 bytes except at the ends of rows. Finishes: applies an epilogue. The
// warp's lanes write their outputs to `at`, synchronise and call store().
template <int Columns, bool Finishes, int Rows = 16> struct rows_to_store {
  static constexpr int rows = Rows, columns = Columns,
                       // apart: padded against bank conflicts when lanes write pairs
      apart = columns + 8;
  static_assert(columns <= warp_size);
  alignas(16) float elements[rows][apart];

  // Stores to C from the element at `c` on, which is (row, column); rows are lines of the long operand.
  // rows_left, columns_left: up to the edge of C.
  AP_DEV void store(const tiled_problem& p, float* c, std::int64_t row, std::int64_t column, int rows_left,
                    int columns_left, std::int64_t member) const {
    // Neighbouring lanes take neighbours along C's index with stride 1, if there is one.
    const bool along_short = p.short_stride == 1 || p.long_stride != 1;
    const int lanes = along_short ? columns : rows, others = along_short ? rows : columns,
              at_once = warp_size / lanes;
    const int inner = lane_index() % lanes, outer = lane_index() / lanes,
              inner_left = along_short ? columns_left : rows_left,
              outer_left = along_short ? rows_left : columns_left,
              end = outer_left < others ? outer_left : others;
    if (inner >= inner_left) return;
    const std::int64_t step = at_once * (along_short ? p.long_stride : p.short_stride);
    const int step_here = at_once * (along_short ? apart : 1);
    float* to = c + inner * (along_short ? p.short_stride : p.long_stride) +
                outer * (along_short ? p.long_stride : p.short_stride);
    const float* from = &elements[0][0] + (along_short ? outer * apart + inner : inner * apart + outer);
    constexpr int steps = rows * columns / warp_size;
    // All of a lane's sums and of C are loaded before the first store, so that the loads overlap. Stores are
    // predicated, without a branch for each.
    float value[steps];
    AP_UNROLL
    for (int n = 0; n < steps; ++n) value[n] = from[n * step_here];
    if constexpr (Finishes) {
      AP_UNROLL
      for (int n = 0; n < steps; ++n) {
        const int here = outer + n * at_once;
        if (here >= end) break;
        const std::int64_t i = row + (along_short ? here : inner), j = column + (along_short ? inner : here);
        to[n * step] = finished(p.end, value[n], i, j, member, to + n * step);
      }
    } else {
      float before[steps] = {};
      if (p.end.beta != 0) {
        AP_UNROLL
        for (int n = 0; n < steps; ++n)
          if (outer + n * at_once < end) before[n] = to[n * step];
      }
      AP_UNROLL
      for (int n = 0; n < steps; ++n) value[n] = blend(p.end, value[n], &before[n]);
      AP_UNROLL
      for (int n = 0; n < steps; ++n)
        if (outer + n * at_once < end) to[n * step] = value[n];
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
