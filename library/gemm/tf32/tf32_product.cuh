// SPDX-License-Identifier: Apache-2.0
// FP32-accurate products on Tensor Cores in one launch: three products of TF32 parts, split on their way
// (wgmma, sm_90a).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <antiphase/device/registers.cuh>
#include <type_traits>
#include "library/gemm/tf32/load/tf32_layout.cuh"
#include "library/gemm/tf32/load/tf32_load.cuh"
#include "library/gemm/tf32/tf32_compute.cuh"
#include "library/gemm/tf32/tf32_product.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
// Warp specialisation. Warpgroup 0 (tf32_load.cuh): one thread loads by TMA and three warps prepare the
// short operand; or all four warps copy by cp.async and prepare. Warpgroups 1 and 2 (tf32_compute.cuh)
// compute, 64 x 64 outputs each:
//   slot:  load | prepare (3 warps) | split, multiply (8 warps) | load ...     a stage of 32 k in FP32
// An element is the sum of two TF32 numbers, hi and lo, except for its last bits: hi hi + (lo hi + hi lo).
// For the long operand a computing warp makes both in registers, 16 k at a time: hi is rounded, lo is the
// exact rest. For the short operand Tensor Cores make hi themselves, since they ignore the low 13 bits of
// what they read from shared memory; the preparing warps write lo next to it (tf32_prepare.cuh), and, if the
// operand lies across k, hi too, for wgmma takes TF32 along k only. hi hi of every 64 k goes into a fresh
// accumulator and is then added to the sum in FP32 registers (promotion), because Tensor Cores truncate; the
// mixed products are so small that they need no such care.
//
// The warps that prepare and split also collect what the certificate needs of each line
// (docs/use/accuracy.md): the least element that is not zero, how large the largest is, and where one or two
// nonzeros are. An output without a certificate is computed again by its warp, at once and alone.
//
// Persistent blocks walk over tiles. Where there are few tiles, the blocks of a cluster share one, and so do
// parts of K through the workspace (split-K: tf32_split_k.cuh). Sums are added in the order of k.
template <tf32_policy P, template <class Channel, int Warps> class RingOf = plain_ring> struct tf32_product {
  static_assert(valid(P));
  using layout = tf32_layout<P, RingOf>;
  static constexpr bool by_tma = layout::by_tma;
  static constexpr int threads = layout::threads, stages = layout::stages;
  static constexpr int preparing_warps = layout::preparing_warps, computing_warps = layout::computing_warps;
  // Whoever prepares an operand across k reads it element by element, which takes more registers.
  static constexpr bool by_elements = layout::preparation::turns;
  static constexpr int preparing_registers = by_elements ? 88 : 72,
                       computing_registers = by_elements ? 208 : 216;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr residency blocks = residency::in_order;
  static constexpr bool overlaps_previous = true;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = tf32_problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  using storage = typename layout::storage;

  // roles
  // ---------------------------------------------------------------------------------------------------------
  using producer = std::conditional_t<by_tma, tf32_producer<P, layout>, tf32_copier<P, layout>>;
  using preparer = tf32_preparer<P, layout>;
  using consumer = tf32_consumer<P, layout>;

  // kernel
  // ---------------------------------------------------------------------------------------------------------
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    if (thread_index() == 0) {
      s.ring.init();
      fence_mbarrier_init();
      producer::setup(p);
    }
    block_barrier();
    wait_for_previous_grid(p);
    start_next_grid();
    if (warp_index() < warpgroup_size / warp_size) {
      release_registers<preparing_registers>();
      if constexpr (by_tma) {
        if (warp_index() < preparing_warps) {
          preparer::prepare(p, s);
        } else if (lane_index() == 0) {
          producer::load(p, s);
        }
      } else {
        producer::copy_and_prepare(p, s);
      }
    } else {
      request_registers<computing_registers>();
      const auto t = consumer::seat::mine();
      const tf32_walk mine(p);
      typename layout::slot_cursor at;
      typename layout::tile_cursor noted;
      consumer::run(p, s, t, mine, at, noted);
    }
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
