// SPDX-License-Identifier: Apache-2.0
// A kernel of the ladder with fewer registers than its sums and fragments need: it spills, and the check must
// report it.
#include <antiphase/gemm/ladder.hpp>
#include "library/gemm/fp32/tiled.cuh"

namespace antiphase::gemms {

constexpr policy cramped = [] {
  policy p = register_tile_policy;
  p.blocks = 3;
  return p;
}();
const kernel cramped_kernel = kernel_of<tiled<cramped>>("cramped");

}  // namespace antiphase::gemms
