// SPDX-License-Identifier: Apache-2.0
// The finishing pass: applies an epilogue to the sums in C, or to zeros (sm_75).
#pragma once
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/operands/finish/finish_pass.hpp"
#include "library/gemm/operands/finish/finished.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

struct finish_pass {
  static constexpr int threads = finish_tile.m * warp_size;
  using params = finish_problem;
  struct storage {};

  AP_DEV void operator()(const params& p) const {
    const std::uint32_t tile = block_index().x, row_of_tiles = tile / p.tiles_across;
    const std::int64_t member = row_of_tiles / p.tiles_down;
    const std::int64_t i = std::int64_t{row_of_tiles % p.tiles_down} * finish_tile.m + warp_index();
    const std::int64_t first = std::int64_t{tile % p.tiles_across} * finish_tile.n + lane_index();
    if (i >= p.rows) return;
    float* const c = p.c_of != nullptr ? p.c_of[member] : p.c.data + member * p.c.member_stride;
    for (int n = 0; n < finish_tile.n; n += warp_size) {
      const std::int64_t j = first + n;
      if (j >= p.columns) return;
      float* const to = c + i * p.c.row_stride + j * p.c.column_stride;
      *to = finished(p.end, p.multiplied ? *to : 0, i, j, member, to);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
