// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels_recompute.cuh, for each target: a function of split/recompute.cuh or
// recompute_sparse.cuh on every tile of a problem.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/problem.hpp>
#include <vector>
#include "library/gemm/fp16/split_operand.hpp"

namespace antiphase::gemms {

struct recompute_params {
  problem p;
  const int* count;  // of each tile, row by row; list only
  // uncertain_limit of each, as recompute_list takes them; in global memory, as those of a product
  const std::uint16_t* outputs;
  split_operand a, b;  // sparse only
};
struct recompute_kernels {
  kernel list, tile, sparse;
};
namespace cpu {
recompute_kernels kernels_of_recompute();
}
namespace cuda {
recompute_kernels kernels_of_recompute();
}
namespace checked {
recompute_kernels kernels_of_recompute();
}

}  // namespace antiphase::gemms
