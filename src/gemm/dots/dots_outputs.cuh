// SPDX-License-Identifier: Apache-2.0
// From the sums of inner products to C.
#pragma once
#include <antiphase/device/lanes.cuh>
#include <antiphase/device/warp.cuh>
#include "src/gemm/blend.cuh"
#include "src/gemm/dots/dots_product.hpp"
#include "src/gemm/finished.cuh"
#include "src/gemm/sparse_lines.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <bool Finishes> struct dots_outputs {
  // One member of a batch.
  struct member_data {
    std::int64_t member;
    const float* of_long;
    const float* of_short;
  };
  // Line i of the long operand times line j of the short one: its place in C, and what is stored there.
  AP_DEV static float* place_at(const dots_problem& p, std::int64_t member, std::int64_t i, std::int64_t j) {
    float* const c = p.c_member != nullptr ? p.c_member[member] : p.c + member * p.batch_stride;
    return c + i * p.long_stride + j * p.short_stride;
  }
  AP_DEV static void store_at(const dots_problem& p, std::int64_t member, std::int64_t i, std::int64_t j, double sum) {
    float* const to = place_at(p, member, i, j);
    if constexpr (Finishes)
      *to = finished(p.end, static_cast<float>(sum), i, j, member, to);
    else
      *to = blend(p.end, static_cast<float>(sum), to);
  }
  // Those of a warp's outputs, one for a lane, that have to be exact, one after another: by_long if for the nonzeros of line i, else for
  // those of line j. What an infinity or a NaN has made of an output stays.
  AP_DEV static void store_exact_at(const dots_problem& p, line_nonzeros& found, const member_data& of, bool is_sparse, bool by_long,
                                    std::int64_t i, std::int64_t j, double sum) {
    const unsigned sparse = ballot(is_sparse);
    AP_ROLLED
    for (int lane = 0; lane < warp_size && sparse >> lane != 0; ++lane) {
      if ((sparse >> lane & 1u) == 0) continue;
      const bool of_long = shuffle(static_cast<int>(by_long), lane) != 0;
      const line_operand& o = of_long ? p.of_long : p.of_short;
      const std::int64_t line = shuffle(of_long ? i : j, lane);
      find_nonzeros((of_long ? of.of_long : of.of_short) + line * o.line_stride, o.k_stride, p.k, found);
      warp_sync();
      if (lane_index() == lane)
        store_at(p, of.member, i, j, sum - sum == 0 ? exact_output(p.of_long, of.of_long, i, p.of_short, of.of_short, j, found) : sum);
      warp_sync();
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
