// SPDX-License-Identifier: Apache-2.0
// Linear layers by whole warps, from operands that lie anyhow (mma.sync and cp.async, sm_80).
#pragma once
#include <antiphase/channel/async_copies.cuh>
#include <antiphase/core/pipeline.hpp>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/matrix_bf16.cuh>
#include <type_traits>
#include "src/gemm/operands/tensor_core_tile.cuh"
#include "src/linear/outputs.cuh"
#include "src/linear/tile_walk.cuh"

namespace antiphase::linears {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// A block computes one tile, a warp 32 x 32 of it, in the order of k: the same bits as tile_product. All
// threads load 64 k of the rows of X and W into a ring of slots, zeros where they end: pieces of 16 bytes by
// cp.async where rows are contiguous and aligned, else element by element.
//   slot:  copy | multiply | copy | multiply ...

// How loads and products of a slot wait for each other. A parameter, so that tests can take it away.
template <int Stages> using mma_ring = async_copies<Stages>;

template <mma_policy P, template <int> class Ring = mma_ring> struct mma_product {
  using in = std::conditional_t<P.of_bf16, bf16, f16>;
  static constexpr int threads = 128, stages = 3, warp_tile = 32;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int blocks_wanted = 2;
  using params = arguments;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  using lines = gemms::half_panel<64, depth>;
  struct storage {
    struct slot {
      lines x, w;
    } slots[stages];
    alignas(16) unsigned char box[4][line_box_bytes];
  };

 private:
  // load
  // ---------------------------------------------------------------------------------------------------------
  // 64 lines of 64 k from `first` on, `count` of which are there, `k` of whose elements are.
  AP_DEV static void load(lines& to, const linear_operand& from, const f16* first, int count, int k,
                          bool aligned) {
    const bool along_k = from.k_stride == 1;
    AP_UNROLL
    for (int i = 0; i < 64 * depth / 8 / threads; ++i) {
      // neighbours in memory for neighbouring threads
      const int piece = thread_index() + i * threads, line = along_k ? piece / (depth / 8) : piece % 64,
                at = (along_k ? piece % (depth / 8) : piece / 64) * 8;
      const int left = line < count ? (k - at < 8 ? (k > at ? k - at : 0) : 8) : 0;
      const f16* const source = first + line * from.row_stride + at * from.k_stride;
      if (aligned) {
        copy_async<16>(to.at(line, at), left > 0 ? source : first, 2 * left);
        continue;
      }
      pack<f16, 8> some{};
      AP_UNROLL
      for (int e = 0; e < 8; ++e)
        if (e < left) some.element[e] = source[e * from.k_stride];
      store_pack<8>(to.at(line, at), some);
    }
  }

  // compute
  // ---------------------------------------------------------------------------------------------------------
  using sums = float[warp_tile / 16][warp_tile / 2];
  AP_DEV static void multiply(sums& sum, lines& x, lines& w, int top, int left) {
    const int lane = lane_index();
    AP_UNROLL
    for (int k = 0; k < depth; k += 16) {
      std::uint32_t of_x[warp_tile / 16][4], of_w[warp_tile / 16][4];
      AP_UNROLL
      for (int i = 0; i < warp_tile / 16; ++i) {
        ldmatrix(of_x[i], x.at(top + 16 * i + lane % 16, k + lane / 16 * 8));
        ldmatrix(of_w[i], w.at(left + 16 * i + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8));
      }
      AP_UNROLL
      for (int i = 0; i < warp_tile / 16; ++i) {
        AP_UNROLL
        for (int j = 0; j < warp_tile / 8; ++j) {
          float(&four)[4] = *reinterpret_cast<float(*)[4]>(&sum[i][4 * j]);
          mma<in>(four, of_x[i], {of_w[j / 2][j % 2 * 2], of_w[j / 2][j % 2 * 2 + 1]});
        }
      }
    }
  }

 public:
  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    wait_for_previous_grid();
    start_next_grid();
    const tile_walk<mma_rows, mma_columns> tile(p);
    if (!tile.valid()) return;
    const int warp = warp_index(), top = warp / 2 * warp_tile, left = warp % 2 * warp_tile;
    const auto first_of = [&](const linear_operand& of, int line) {
      return static_cast<const f16*>(of.data) + line * of.row_stride + tile.member * of.member_stride;
    };
    const f16 *const x = first_of(p.x, tile.row), *const w = first_of(p.w, tile.column);
    sums sum = {};
    const auto fill = [&](int step, int slot) {
      const int k = step * depth;
      load(s.slots[slot].x, p.x, x + k * p.x.k_stride, tile.end - tile.row, p.k - k, p.rows_aligned);
      load(s.slots[slot].w, p.w, w + k * p.w.k_stride, p.n - tile.column, p.k - k, p.rows_aligned);
    };
    const auto use = [&](int, int slot) { multiply(sum, s.slots[slot].x, s.slots[slot].w, top, left); };
    Ring<stages> ring;
    pipeline line{ring};
    line.run(p.blocks, fill, use);
    AP_UNROLL
    for (int i = 0; i < warp_tile / 16; ++i)
      if (const int row = tile.row + top + 16 * i; row < tile.end)
        store_rows<in>(p, s.box[warp], sum[i], row, tile.end, tile.column + left, tile.member);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::linears
