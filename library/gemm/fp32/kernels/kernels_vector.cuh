// SPDX-License-Identifier: Apache-2.0
// The GEMM kernels with 16-byte accesses (sm_80), one variant per way the operands lie in memory.
#include <antiphase/gemm/ladder.hpp>
#include "library/gemm/fp32/tiled.cuh"

#include "library/gemm/fp32/kernels/kernel_list.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<instance> vector_kernels() {
  using enum contiguous;
  std::vector<instance> list;
  add_with_parts<vectors_policy(k, outer)>(list, "vectors", "gemm.vectors");  // A and B row-major
  add<vectors_policy(k, k)>(list, "vectors", "gemm.vectors");
  add<vectors_policy(outer, outer)>(list, "vectors", "gemm.vectors");
  add<vectors_policy(outer, k)>(list, "vectors", "gemm.vectors");
  add_with_parts<vectors_policy(neither, neither)>(list, "vectors", "gemm.vectors");
  add_with_parts<warp_tile_policy(k, outer)>(list, "warp-tile", "gemm.warp-tile");
  add<warp_tile_policy(k, k)>(list, "warp-tile", "gemm.warp-tile");
  add<warp_tile_policy(outer, outer)>(list, "warp-tile", "gemm.warp-tile");
  add<warp_tile_policy(outer, k)>(list, "warp-tile", "gemm.warp-tile");
  add_with_parts<warp_tile_policy(neither, neither)>(list, "warp-tile", "gemm.warp-tile");
  // The last step multiplies what its own kernels (kernels_strict.cuh) cannot take in the same way: these are
  // the same kernels once more.
  add<warp_tile_policy(k, outer)>(list, "strict", "gemm.strict-unaligned");
  add<warp_tile_policy(k, k)>(list, "strict", "gemm.strict-unaligned");
  add<warp_tile_policy(outer, k)>(list, "strict", "gemm.strict-unaligned");
  add_with_parts<warp_tile_policy(neither, neither)>(list, "strict", "gemm.strict-general");
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
