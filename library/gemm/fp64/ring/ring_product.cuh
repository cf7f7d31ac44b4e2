// SPDX-License-Identifier: Apache-2.0
// Products that stream their operands through a ring and FP64 Tensor Cores: one launch, nothing to scale,
// split or certify (sm_80; TMA: sm_90).
#pragma once
#include <antiphase/device/barrier.cuh>
#include <antiphase/device/kernel.cuh>
#include <antiphase/device/launch.cuh>
#include <type_traits>
#include "library/gemm/fp64/ring/ring_compute.cuh"
#include "library/gemm/fp64/ring/ring_layout.cuh"
#include "library/gemm/fp64/ring/ring_load.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// plan
// -----------------------------------------------------------------------------------------------------------
//   producer (ring_load.cuh):     load slabs of 32 k, by a TMA thread or copying warps
//   consumer (ring_compute.cuh):  convert, multiply (FP64 Tensor Cores) | store
//   split-K (split_k_epilogue.cuh), all threads:  add up the sums | store
// Products of FP32 are exact in FP64 and none overflows, so elements need no scales and results no
// certificate. Where a product is bound by memory, conversion and FP64 Tensor Cores cost nothing. The operand
// with more lines is the m side of the Tensor Cores, the other one their n side of 8 lines, so that a skinny
// operand wastes little. Sums stay FP64 until they are stored, also those that warps, blocks of a cluster and
// parts of K exchange.
template <fp64_policy P, template <class Channel, int Warps> class RingOf = plain_ring> struct ring_product {
  static_assert(valid(P) && P.is_fed_by_ring());
  using layout = ring_layout<P, RingOf>;
  static constexpr int threads = layout::threads, loading_warps = layout::loading_warps;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int blocks_wanted = P.blocks;
  static constexpr residency blocks = P.shares ? residency::in_order : residency::any;
  static constexpr bool overlaps_previous = true;

  // params
  // ---------------------------------------------------------------------------------------------------------
  using params = tiled_problem;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  using storage = typename layout::storage;

  // roles
  // ---------------------------------------------------------------------------------------------------------
  using tiles = fp64_tiles<P>;
  using producer = std::conditional_t<layout::by_tma, tma_producer<P, layout>, copying_producer<P, layout>>;
  using consumer = ring_consumer<P, layout>;

  // kernel
  // ---------------------------------------------------------------------------------------------------------
  // Whatever reads no memory of earlier work comes before the wait for it.
  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const bool computes = warp_index() < layout::computing_warps;
    if (thread_index() == 0) {
      s.ring.init();
      producer::setup(p);
    }
    block_barrier();
    if constexpr (P.shares)
      multiply_part(p, s, computes);
    else
      multiply_tiles(p, s, computes);
  }

 private:
  // Persistent blocks: each walks over tiles, one grid apart.
  AP_DEV static void multiply_tiles(const params& p, storage& s, bool computes) {
    std::uint32_t tile = block_index().x;
    fp64_work w = tiles::at(p, tile, 0);
    const auto t = consumer::seat::mine();
    wait_for_previous_grid(p);
    start_next_grid();
    typename layout::slot_cursor at;
    while (tile < p.tiles) {
      if (!layout::by_tma) tiles::find_operands(p, w);
      if (computes) {
        typename consumer::sums sum = {};
        consumer::compute(p, s, at, w, t, sum);
        consumer::store(p, s, w, t, sum);
      } else {
        producer::load(p, s, at, w);
      }
      tile += grid_extent().x;
      w = tiles::at(p, tile, 0);
    }
  }
  // Split-K: the block has a share of one tile's k.
  AP_DEV static void multiply_part(const params& p, storage& s, bool computes) {
    const split_k_place place = split_k_place::mine(p);
    fp64_work w = tiles::at(p, place.tile, place.share_of_k());
    const auto t = consumer::seat::mine();
    typename consumer::sums sum = {};
    wait_for_previous_grid(p);
    start_next_grid();
    tiles::find_operands(p, w);
    typename layout::slot_cursor at;
    if (computes)
      consumer::compute(p, s, at, w, t, sum);
    else
      producer::load(p, s, at, w);
    block_barrier();  // the ring's memory is free
    layout::epilogue::finish(p, s.parts, w, place, computes, t, sum);
  }
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
