// SPDX-License-Identifier: Apache-2.0
// Kernels that recompute outputs of every tile. A ninth warp takes no part: the others must not wait for it.
#include <antiphase/device/kernel.cuh>
#include "library/gemm/fp16/recompute/recompute.cuh"
#include "library/gemm/fp16/recompute/recompute_sparse.cuh"
#include "tests/gemm/fp16/recompute_kernels.hpp"

namespace antiphase::gemms {
inline namespace AP_TARGET {

enum class recomputed { list, tile, sparse };

template <recomputed What> struct recompute_all {
  using params = recompute_params;
  using storage = recompute_storage<3>;
  static constexpr shared_kind shared = shared_kind::dynamic;
  static constexpr int threads = recompute_shape::threads + warp_size;

  AP_DEV void operator()(const params& p) const {
    storage& s = antiphase::shared<storage, shared>();
    const std::int64_t top = std::int64_t{block_index().y} * split_tile,
                       left = std::int64_t{block_index().x} * split_tile;
    const auto tile = block_index().y * grid_extent().x + block_index().x;
    const int member = thread_index();
    if (member >= recompute_shape::threads) return;
    if constexpr (What == recomputed::list)
      recompute_list(p.p, top, left, p.outputs + tile * uncertain_limit, p.count[tile], s, member);
    if constexpr (What == recomputed::tile) recompute_tile(p.p, top, left, s, member);
    if constexpr (What == recomputed::sparse) recompute_sparse(p.p, top, left, p.a, p.b, member);
  }
};

recompute_kernels kernels_of_recompute() {
  return {kernel_of<recompute_all<recomputed::list>>("recompute-list"),
          kernel_of<recompute_all<recomputed::tile>>("recompute-tile"),
          kernel_of<recompute_all<recomputed::sparse>>("recompute-sparse")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
