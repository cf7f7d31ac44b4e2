// SPDX-License-Identifier: Apache-2.0
// Recording GEMM kernels of the ladder with asynchronous copies (sm_80). Steps with wide copies have a twin
// for row-major operands and one for any strides.
#include <antiphase/gemm/ladder.hpp>
#include <vector>
#include "learn/trace/twins/traced.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <policy P> void add_traced(std::vector<instance>& list, const char* step, const char* name) {
  list.push_back({step, P, kernel_of<traced<P>>(name)});
}

std::vector<instance> traced_async_kernels() {
  std::vector<instance> list;
  add_traced<async_policy(1)>(list, "async-1", "gemm.async-1, recorded");
  add_traced_steps<copy_kind::asynchronous>(list);
  add_traced<vectors_policy(contiguous::k, contiguous::outer)>(list, "vectors", "gemm.vectors, recorded");
  add_traced<vectors_policy(contiguous::neither, contiguous::neither)>(list, "vectors",
                                                                       "gemm.vectors, recorded");
  add_traced<warp_tile_policy(contiguous::k, contiguous::outer)>(list, "warp-tile",
                                                                 "gemm.warp-tile, recorded");
  add_traced<warp_tile_policy(contiguous::neither, contiguous::neither)>(list, "warp-tile",
                                                                         "gemm.warp-tile, recorded");
  add_traced<strict_policy(contiguous::k, contiguous::outer)>(list, "strict", "gemm.strict, recorded");
  add_traced<strict_small_policy(contiguous::k, contiguous::outer)>(list, "strict",
                                                                    "gemm.strict-small, recorded");
  add_traced<warp_tile_policy(contiguous::neither, contiguous::neither)>(list, "strict",
                                                                         "gemm.strict-general, recorded");
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
