// The recording GEMM kernels that copy asynchronously (sm_80). Those with wide copies have one twin for row-major operands and one for any.
#include <antiphase/gemm/ladder.hpp>
#include "src/trace/traced.cuh"
#include <vector>

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <policy P> void add_traced(std::vector<instance>& list, const char* step, const char* name) {
  list.push_back({step, P, kernel_of<traced<P>>(name)});
}

std::vector<instance> traced_async_kernels() {
  std::vector<instance> list;
  add_traced<async_policy(1)>(list, "async-1", "gemm.async-1, recorded");
  add_traced<async_policy(2)>(list, "async-2", "gemm.async-2, recorded");
  add_traced<async_policy(3)>(list, "async-3", "gemm.async-3, recorded");
  add_traced<async_policy(4)>(list, "async-4", "gemm.async-4, recorded");
  add_traced<register_tile_policy>(list, "register-tile", "gemm.register-tile, recorded");
  add_traced<fragments_policy>(list, "fragments", "gemm.fragments, recorded");
  add_traced<vectors_policy(contiguous::k, contiguous::outer)>(list, "vectors", "gemm.vectors, recorded");
  add_traced<vectors_policy(contiguous::neither, contiguous::neither)>(list, "vectors", "gemm.vectors, recorded");
  add_traced<warp_tile_policy(contiguous::k, contiguous::outer)>(list, "warp-tile", "gemm.warp-tile, recorded");
  add_traced<warp_tile_policy(contiguous::neither, contiguous::neither)>(list, "warp-tile", "gemm.warp-tile, recorded");
  add_traced<strict_policy(contiguous::k, contiguous::outer)>(list, "strict", "gemm.strict, recorded");
  add_traced<strict_small_policy(contiguous::k, contiguous::outer)>(list, "strict", "gemm.strict-small, recorded");
  add_traced<warp_tile_policy(contiguous::neither, contiguous::neither)>(list, "strict", "gemm.strict-general, recorded");
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
