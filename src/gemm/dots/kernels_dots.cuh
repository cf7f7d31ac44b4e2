// SPDX-License-Identifier: Apache-2.0
// The kernels of policy dots (sm_75; clusters: sm_90).
#pragma once
#include <limits>
#include <vector>
#include "src/gemm/dots/dots_by_lanes.cuh"
#include "src/gemm/dots/dots_product.cuh"
#include "src/gemm/dots/dots_vector.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <int Short, int Rows, bool Finishes> dots_instance dots_instance_of(const char* name) {
  return {Short, Rows, 0, 0, Finishes, false, kernel_of<dots_product<Short, Rows, Finishes>>(name)};
}
template <int Square, bool Finishes, bool Across> dots_instance dots_by_lanes_of(const char* name) {
  return {std::numeric_limits<int>::max(), 0, Square, 0, Finishes, Across, kernel_of<dots_by_lanes<Square, Finishes, Across>>(name)};
}
template <bool Across, int Rows> dots_instance dots_vector_of(const char* name) {
  return {1, 0, 0, Rows, false, Across, kernel_of<dots_vector<Across, Rows>>(name)};
}

std::vector<dots_instance> dots_kernels() {
  return {dots_instance_of<1, 2, false>("gemm.dots-1-2"),
          dots_instance_of<1, 4, false>("gemm.dots-1-4"),
          dots_instance_of<2, 2, false>("gemm.dots-2-2"),
          dots_instance_of<2, 4, false>("gemm.dots-2-4"),
          dots_instance_of<4, 1, false>("gemm.dots-4-1"),
          dots_instance_of<4, 2, false>("gemm.dots-4-2"),
          dots_instance_of<8, 1, false>("gemm.dots-8-1"),
          dots_instance_of<8, 2, false>("gemm.dots-8-2"),
          dots_instance_of<8, dots_finishing_rows, true>("gemm.dots-finish-8"),
          dots_by_lanes_of<1, false, false>("gemm.dots-lanes-1"),
          dots_by_lanes_of<2, false, false>("gemm.dots-lanes-2"),
          dots_by_lanes_of<1, true, false>("gemm.dots-finish-lanes"),
          dots_by_lanes_of<1, false, true>("gemm.dots-across-1"),
          dots_by_lanes_of<2, false, true>("gemm.dots-across-2"),
          dots_by_lanes_of<1, true, true>("gemm.dots-finish-across"),
          dots_vector_of<false, 1>("gemm.dots-vector-1"),
          dots_vector_of<false, 2>("gemm.dots-vector-2"),
          dots_vector_of<true, 4>("gemm.dots-vector-across")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
