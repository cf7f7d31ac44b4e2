// The kernels of kernels_recompute.cuh, for each target: a function of gemm/recompute.cuh on every tile of a problem.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/problem.hpp>
#include "src/gemm/split/split_operand.hpp"
#include <vector>

namespace antiphase::gemms {

constexpr int recompute_tile_size = 128, places_of_tile = 512;

struct recompute_params {
  problem p;
  const int* count;             // of each tile, row by row; list only
  const std::uint16_t* places;  // places_of_tile of each
  split_operand a, b;           // few only
};
struct recompute_kernels {
  kernel list, tile, few;
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
