// SPDX-License-Identifier: Apache-2.0
// Linear layers by whole warps, from operands that lie anyhow (mma.sync and cp.async, sm_80).
#pragma once
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/channel/recorder.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/matrix_bf16.cuh>
#include <type_traits>
#include "library/gemm/operands/tiled/tensor_core_tile.cuh"
#include "library/linear/outputs.cuh"
#include "library/linear/tile_walk.cuh"

namespace antiphase::linears {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A block computes one tile in the order of k: the same bits as tile_product. All threads load the k of a
// step of the rows of X and W into a ring of slots, zeros where they end: pieces of 16 bytes by cp.async;
// small tiles take rows that are not contiguous or aligned, too, element by element.
//   slot:  copy | multiply | copy | multiply ...      with S stages, the copies run S - 1 steps ahead
// Both lie as in memory, in swizzled lines, so that eight pieces of a matrix are in 32 different banks.

template <mma_policy P> struct mma_product {
  using in = std::conditional_t<P.of_bf16, bf16, f16>;
  static constexpr int tile = P.tile, step = P.step, stages = P.stages;
  static constexpr int warp_rows = tile / 2, warp_columns = 32;
  static constexpr int threads = 32 * 2 * (tile / warp_columns);
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int blocks_wanted = 2;
  using params = arguments;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  using rows = gemms::tensor_core_tile<tile, step, step>;
  // of W: a line is a row, or a k of all rows
  using w_lines = std::conditional_t<P.w_across, gemms::tensor_core_tile<step, tile, 64>, rows>;
  struct storage {
    struct slot {
      rows x;
      w_lines w;
    } slots[stages];
    alignas(16) unsigned char box[threads / 32][line_box_bytes];
  };

 private:
  // load
  // ---------------------------------------------------------------------------------------------------------
  static constexpr int rounds = tile * step / 8 / threads;  // of pieces of 8 elements
  AP_DEV static int piece_elements(int left) { return left < 0 ? 0 : left < 8 ? left : 8; }
  // Rows that lie anyhow.
  AP_DEV static void load_elements(rows& to, const linear_operand& from, const f16* first, int count, int k) {
    const bool neighbors_along_k = from.k_stride == 1;  // for neighboring threads
    AP_ROLLED
    for (int i = 0; i < rounds; ++i) {
      const int piece = thread_index() + i * threads;
      const int row = neighbors_along_k ? piece / (step / 8) : piece % tile,
                at = (neighbors_along_k ? piece % (step / 8) : piece / tile) * 8;
      const int left = row < count ? piece_elements(k - at) : 0;
      const f16* const source = first + row * from.row_stride + at * from.k_stride;
      pack<f16, 8> some{};
      AP_UNROLL
      for (int e = 0; e < 8; ++e)
        if (e < left) some.element[e] = source[e * from.k_stride];
      store_pack<8>(to.at(row, at), some);
    }
  }
  // `k` on of the rows from `first` on, `count` of which are there.
  AP_DEV static void load(rows& to, const linear_operand& from, const f16* first, int count, int k,
                          const params& p) {
    if (P.whole_pieces || p.rows_aligned)
      gemms::load_tile<tile, step, threads>(to, {first, count, p.k, from.row_stride, 1}, 0, k);
    else
      load_elements(to, from, first + k * from.k_stride, count, p.k - k);
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  using sums = float[warp_rows / 16][warp_columns / 2];
  // Four matrices of 8 rows by 8 k, of which the lane passes line `line` of one, at (row, k).
  template <bool Across>
  AP_DEV static void read(std::uint32_t (&to)[4], auto& from, int row, int k, int line) {
    if constexpr (Across)
      ldmatrix_transposed(to, from.at(k + line, row));
    else
      ldmatrix(to, from.at(row + line, k));
  }
  AP_DEV static void multiply(sums& sum, rows& x, w_lines& w, int top, int left) {
    const int line = lane_index() % 8, second = lane_index() / 8 % 2 * 8, third = lane_index() / 16 * 8;
    AP_UNROLL
    for (int k = 0; k < step; k += 16) {
      std::uint32_t of_w[warp_columns / 16][4];
      AP_UNROLL
      for (int j = 0; j < warp_columns / 16; ++j)
        read<P.w_across>(of_w[j], w, left + 16 * j + third, k + second, line);
      AP_UNROLL
      for (int i = 0; i < warp_rows / 16; ++i) {
        std::uint32_t of_x[4];
        read<false>(of_x, x, top + 16 * i + second, k + third, line);
        AP_UNROLL
        for (int j = 0; j < warp_columns / 8; ++j) {
          float(&four)[4] = *reinterpret_cast<float(*)[4]>(&sum[i][4 * j]);
          mma<in>(four, of_x, {of_w[j / 2][j % 2 * 2], of_w[j / 2][j % 2 * 2 + 1]});
        }
      }
    }
  }

  // store
  // ---------------------------------------------------------------------------------------------------------
  struct outputs {
    int row, end, column, member;
  };
  AP_DEV static void store(const params& p, sums& sum, unsigned char* box) {
    warp_sync();
    const outputs out = *reinterpret_cast<const outputs*>(box);
    AP_ROLLED
    for (int row = out.row; row < out.row + warp_rows && row < out.end; row += 16) {
      store_rows<in, false>(p, box, sum[0], row, out.end, out.column, out.member);
      AP_UNROLL  // there is one copy of the code above, and registers have no index
      for (int i = 1; i < warp_rows / 16; ++i) {
        AP_UNROLL
        for (int r = 0; r < warp_columns / 2; ++r) sum[i - 1][r] = sum[i][r];
      }
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    no_recorder nothing;
    run(p, nothing);
  }
  // The same with a timeline: see channel/recorder.cuh.
  template <class Recorder> AP_DEV static void run(const params& p, Recorder& recorder) {
    storage& s = antiphase::shared<storage, shared>();
    wait_for_previous_grid();
    start_next_grid();
    const tile_walk<tile, tile> at(p);
    if (!at.valid()) return;
    const int warp = warp_index(), top = warp / (tile / warp_columns) * warp_rows,
              left = warp % (tile / warp_columns) * warp_columns;
    const auto first_of = [&](const linear_operand& of, int row) {
      return static_cast<const f16*>(of.data) + row * of.row_stride + at.member * of.member_stride;
    };
    const f16 *const x = first_of(p.x, at.row), *const w = first_of(p.w, at.column);
    // for the end, in shared memory: registers are scarce
    outputs& out = *reinterpret_cast<outputs*>(s.box[warp]);
    if (lane_index() == 0) out = {at.row + top, at.end, at.column + left, at.member};
    sums sum = {};
    const auto fill = [&](int index, int slot) {
      const int k = index * step;
      load(s.slots[slot].x, p.x, x, at.end - at.row, k, p);
      if constexpr (P.w_across)
        gemms::load_tile<step, tile, threads>(s.slots[slot].w, {w, p.k, p.n - at.column, p.w.k_stride, 1}, k,
                                              0);
      else
        load(s.slots[slot].w, p.w, w, p.n - at.column, k, p);
    };
    const auto use = [&](int, int slot) { multiply(sum, s.slots[slot].x, s.slots[slot].w, top, left); };
    const int steps = (p.k + step - 1) / step;
    auto ring = recorder.ring(async_copies<stages>{}, steps);
    pipeline line{ring};
    line.run(steps, recorder.load(fill), recorder.compute(use));
    store(p, sum, s.box[warp_index()]);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::linears
