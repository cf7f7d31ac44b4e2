// SPDX-License-Identifier: Apache-2.0
// GEMM on Tensor Cores by whole warps: f16 in, f32 out (mma.sync and cp.async, sm_80).
#pragma once
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/channel/recorder.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/matrix.cuh>
#include <antiphase/device/warp.cuh>
#include <antiphase/gemm/tensor_core.hpp>
#include "src/gemm/f16_ladder/store_fragment.cuh"
#include "src/gemm/operands/tensor_core_tile.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A block computes one tile of C. All its threads copy the tiles of A and B along K into a ring of slots,
// zeros where the matrices end:
//   slot:  copy | multiply | copy | multiply ...      with S stages, the copies run S - 1 steps ahead
// Both tiles lie as in global memory, in swizzled rows, so that eight rows of eight elements are read from 32
// different banks.

template <tensor_policy P> struct tensor_core {
  static_assert(valid(P));
  static constexpr int threads = P.threads();
  static constexpr shared_kind shared = P.shared;
  static constexpr int blocks_wanted = P.blocks;
  static constexpr int tiles_m = P.warp.m / 16, tiles_n = P.warp.n / 8;  // of a warp

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = tensor_core_problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  using tile_a = tensor_core_tile<P.tile.m, P.tile_k, P.tile_k>;
  using tile_b = tensor_core_tile<P.tile_k, P.tile.n, 64>;
  struct storage {
    struct slot {
      tile_a a;
      tile_b b;
    } slots[P.stages];
  };

  // compute
  // ---------------------------------------------------------------------------------------------------------
  using sums = float[tiles_m][tiles_n][4];
  AP_DEV static void multiply(sums& sum, tile_a& a, tile_b& b, int top, int left) {
    const int in_row = lane_index() % 16, in_column = lane_index() / 16 * 8;
    AP_UNROLL
    for (int k = 0; k < P.tile_k; k += 16) {
      std::uint32_t of_a[tiles_m][4], of_b[tiles_n / 2][4];
      AP_UNROLL
      for (int i = 0; i < tiles_m; ++i) ldmatrix(of_a[i], a.at(top + 16 * i + in_row, k + in_column));
      AP_UNROLL
      for (int j = 0; j < tiles_n / 2; ++j)
        ldmatrix_transposed(of_b[j], b.at(k + in_row, left + 16 * j + in_column));
      AP_UNROLL
      for (int i = 0; i < tiles_m; ++i) {
        AP_UNROLL
        for (int j = 0; j < tiles_n; ++j)
          mma(sum[i][j], of_a[i], {of_b[j / 2][j % 2 * 2], of_b[j / 2][j % 2 * 2 + 1]});
      }
    }
  }

  // store
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV static void store(const params& p, const sums& sum, std::int64_t top, std::int64_t left) {
    AP_UNROLL
    for (int i = 0; i < tiles_m; ++i) {
      AP_UNROLL
      for (int j = 0; j < tiles_n; ++j) store_fragment(p.c, top + 16 * i, left + 8 * j, sum[i][j]);
    }
  }

  // kernel
  // ---------------------------------------------------------------------------------------------------------
  // One block per tile: (tiles along N, tiles along M) of them.
  AP_DEV void operator()(const params& p) const {
    no_recorder nothing;
    run(p, nothing);
  }
  // The same with a timeline: see channel/recorder.cuh.
  template <class Recorder> AP_DEV static void run(const params& p, Recorder& recorder) {
    storage& s = antiphase::shared<storage, P.shared>();
    const int top = static_cast<int>(block_index().y) * P.tile.m,
              left = static_cast<int>(block_index().x) * P.tile.n;
    const int warp = warp_index(), warp_top = warp / (P.tile.n / P.warp.n) * P.warp.m,
              warp_left = warp % (P.tile.n / P.warp.n) * P.warp.n;
    const int steps = static_cast<int>((p.k() + P.tile_k - 1) / P.tile_k);
    sums sum = {};
    const auto load = [&](int step, int slot) {
      load_tile<P.tile.m, P.tile_k, threads>(s.slots[slot].a, p.a, top, step * P.tile_k);
      load_tile<P.tile_k, P.tile.n, threads>(s.slots[slot].b, p.b, step * P.tile_k, left);
    };
    const auto compute = [&](int, int slot) {
      multiply(sum, s.slots[slot].a, s.slots[slot].b, warp_top, warp_left);
    };
    auto ring = recorder.ring(async_copies<P.stages>{}, steps);
    pipeline line{ring};
    line.run(steps, recorder.load(load), recorder.compute(compute));
    store(p, sum, top + warp_top, left + warp_left);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
