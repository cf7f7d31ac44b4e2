// SPDX-License-Identifier: Apache-2.0
// How the tiles of A and B lie in shared memory.
#pragma once
#include <antiphase/core/portable.hpp>
#include <antiphase/gemm/policy.hpp>

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A tile of one operand in shared memory: `outer` indices (rows of A, columns of B) by `k` indices. The index
// that numbers no row is contiguous.
template <int Outer, int K, operand_policy P> struct operand_tile {
  static constexpr int outer = Outer, k = K, copy_width = P.copy_width;
  static constexpr layout order = P.order;
  static constexpr contiguous along = P.along;
  static constexpr bool transposed = P.transposed();
  static constexpr int rows = order == layout::k_major ? K : Outer;
  static constexpr int columns = order == layout::k_major ? Outer : K;

  alignas(16) float data[rows][columns + P.padding];

  AP_DEV float* at(int o, int i) { return order == layout::k_major ? &data[i][o] : &data[o][i]; }
};
template <policy P> struct tile_a : operand_tile<P.tile.m, P.tile_k, P.a> {};
template <policy P> struct tile_b : operand_tile<P.tile.n, P.tile_k, P.b> {};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
