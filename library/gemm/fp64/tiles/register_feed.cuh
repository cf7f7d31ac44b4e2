// SPDX-License-Identifier: Apache-2.0
// Lanes load an operand from global memory straight into Tensor Core fragments (sm_80).
#pragma once
#include <antiphase/device/global.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/vector.cuh>
#include <antiphase/device/warp.cuh>
#include "library/gemm/fp64/fp64_product.hpp"
#include "library/gemm/fp64/tiles/lane_places.hpp"
#include "library/gemm/operands/line_operand.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A lane's elements of all k, up to 16 * Stages, of `Lines` lines; adjacent ones are loaded in pairs.
template <int Lines, int Stages> struct lane_block {
  static constexpr int count = Lines / 8;
  float x[Stages][count][4];
};
// direction in which pairs can be loaded: both elements exist, and are aligned to 8 bytes
enum class pairs_along : unsigned char { none, k, lines };
struct lane_source {
  const char* base;
  int line_apart, k_apart;  // bytes
  int k;
  pairs_along pairs;

  // Lines from `top` on.
  AP_DEV lane_source(const line_operand& o, const float* data, std::int64_t top, int all_k)
      : base(reinterpret_cast<const char*>(data + top * o.line_stride)),
        line_apart(static_cast<int>(4 * o.line_stride)),
        k_apart(static_cast<int>(4 * o.k_stride)),
        k(all_k),
        pairs(pairs_along::none) {
    if (reinterpret_cast<std::uintptr_t>(base) % 8 != 0) return;
    if (o.k_stride == 1 && o.line_stride % 2 == 0 && k % 2 == 0) pairs = pairs_along::k;
    if (o.line_stride == 1 && o.k_stride % 2 == 0 && o.lines % 2 == 0) pairs = pairs_along::lines;
  }
  AP_DEV const float* at(int line, int where) const {
    return reinterpret_cast<const float*>(in_global_memory(base) + std::int64_t{line} * line_apart +
                                          std::int64_t{where} * k_apart);
  }
  // Lines from `first` on; `left` lines exist from the source's first one on. Lines past the end repeat the
  // last one, k past the end are zero.
  template <pairs_along Pairs, int Lines, int Stages>
  AP_DEV void read(lane_block<Lines, Stages>& to, int first, int left, int g, int q) const {
    AP_UNROLL
    for (int n = 0; n < Stages; ++n) {
      AP_UNROLL
      for (int i = 0; i < 4; i += 2) {
        const bool there = 16 * n + 4 * i < k;  // any of these k exists
        const int here = 16 * n + k_of_lane(i, q), last = k - 1;
        AP_UNROLL
        for (int l = 0; l < to.count; l += 2) {
          const int line = line_of_lane<2>(first, l, g);
          float v[2][2] = {};  // by line and k
          if (there) {
            if constexpr (Pairs == pairs_along::k) {
              AP_UNROLL
              for (int e = 0; e < 2; ++e) {
                const pack<float, 2> both =
                    load_pack<2>(at(line + e < left ? line + e : left - 1, here < last ? here : last - 1));
                v[e][0] = both.element[0], v[e][1] = both.element[1];
              }
            } else {
              AP_UNROLL
              for (int e = 0; e < 2; ++e) {
                const int from = here + e < last ? here + e : last;
                if constexpr (Pairs == pairs_along::lines) {
                  const pack<float, 2> both = load_pack<2>(at(line < left ? line : left - 2, from));
                  v[0][e] = both.element[0], v[1][e] = both.element[1];
                } else {
                  v[0][e] = *at(line < left ? line : left - 1, from);
                  v[1][e] = *at(line + 1 < left ? line + 1 : left - 1, from);
                }
              }
            }
          }
          AP_UNROLL
          for (int e = 0; e < 2; ++e)
            to.x[n][l + e][i] = here < k ? v[e][0] : 0, to.x[n][l + e][i + 1] = here + 1 < k ? v[e][1] : 0;
        }
      }
    }
  }
  template <int Lines, int Stages>
  AP_DEV void read(lane_block<Lines, Stages>& to, int first, int left, int g, int q) const {
    if (pairs == pairs_along::k)
      read<pairs_along::k>(to, first, left, g, q);
    else if (pairs == pairs_along::lines)
      read<pairs_along::lines>(to, first, left, g, q);
    else
      read<pairs_along::none>(to, first, left, g, q);
  }
};

// Multiplies 16 k of two lines of the long operand with those of the lane's lines of the short one. The
// second eight k are skipped if k_left does not reach them.
template <int Count> AP_DEV void multiply_half(const float (&a)[4], const float (&below)[4],
                                               const float (&b)[Count][4], double (&sum)[Count][4],
                                               int k_left = 16) {
  AP_UNROLL
  for (int k = 0; k < 4; k += 2) {
    if (4 * k >= k_left) break;
    const double of_a[4] = {a[k], below[k], a[k + 1], below[k + 1]};
    AP_UNROLL
    for (int j = 0; j < Count; ++j) {
      const double of_b[2] = {b[j][k], b[j][k + 1]};
      mma(sum[j], of_a, of_b);
    }
  }
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
