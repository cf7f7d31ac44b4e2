// SPDX-License-Identifier: Apache-2.0
// Shared memory of a ring product.
#pragma once
#include <antiphase/core/channel.hpp>
#include <antiphase/device/mbarrier.cuh>
#include <antiphase/device/warp.cuh>
#include <type_traits>
#include "library/gemm/fp64/fp64_store.cuh"
#include "library/gemm/fp64/ring/split_k_epilogue.cuh"
#include "library/gemm/fp64/tiles/panel.cuh"
#include "library/gemm/operands/tiled/plain_ring.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

// A slab holds rows of 32 floats in the 128-byte swizzle of TMA: a line's 32 k, or, for an operand whose
// lines lie side by side, the 32 lines at one k. In both layouts a lane takes k = 2 q, 2 q + 1 of 8 and lines
// 2 g, 2 g + 1 of 16, with q = lane % 4 and g = lane / 4: all reads are of 8 bytes and free of bank
// conflicts, and every sum has the same order of k.
template <fp64_policy P, template <class Channel, int Warps> class RingOf = plain_ring> struct ring_layout {
  // warps
  // ---------------------------------------------------------------------------------------------------------
  static constexpr bool by_tma = P.loader == loader::tma;
  static constexpr int computing_warps = P.computing_warps(), loading_warps = by_tma ? 1 : P.copying_warps,
                       threads = (computing_warps + loading_warps) * warp_size;

  // ring
  // ---------------------------------------------------------------------------------------------------------
  enum event { full, empty };
  struct slab {
    fp64_panel<P.tile.m> a;  // long operand
    fp64_panel<P.tile.n> b;
  };
  struct stage {
    slab slabs[P.slabs];
  };
  // TMA: one thread arrives with the byte count. Copying warps: each lane arrives when its cp.async landed.
  using channel_of_loaders =
      channel<mbarrier, P.stages, antiphase::threads(by_tma ? 1 : loading_warps* warp_size),
              warps(computing_warps)>;
  using slot_cursor = cursor<P.stages>;

  // storage
  // ---------------------------------------------------------------------------------------------------------
  using epilogue = split_k_epilogue<P, threads>;
  struct nothing {};
  struct storage {
    union {
      stage stages[P.stages];
      std::conditional_t<P.shares, typename epilogue::storage, nothing> parts;  // after the last load
    };
    RingOf<channel_of_loaders, threads / warp_size> ring;
    [[no_unique_address]] std::conditional_t<P.shares, nothing, staged_rows<P>[computing_warps]> staged;
  };
};

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
