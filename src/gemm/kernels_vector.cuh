// The GEMM kernels with 16-byte accesses (sm_80), one variant per pair of copy widths.
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/tiled.cuh>

#include "kernel_list.cuh"

namespace antiphase::mm {
inline namespace AP_TARGET {

std::vector<instance> vector_kernels() {
  std::vector<instance> list;
  add_with_parts<vectors_policy(1, 4)>(list, "vectors", "gemm.vectors");
  add<vectors_policy(4, 4)>(list, "vectors", "gemm.vectors");
  add<vectors_policy(4, 1)>(list, "vectors", "gemm.vectors");
  add<vectors_policy(1, 1)>(list, "vectors", "gemm.vectors");
  add_with_parts<warp_tile_policy(1, 4)>(list, "warp-tile", "gemm.warp-tile");
  add<warp_tile_policy(4, 4)>(list, "warp-tile", "gemm.warp-tile");
  add<warp_tile_policy(4, 1)>(list, "warp-tile", "gemm.warp-tile");
  add<warp_tile_policy(1, 1)>(list, "warp-tile", "gemm.warp-tile");
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::mm
