// SPDX-License-Identifier: Apache-2.0
// The kernels of policy dots (sm_75).
#pragma once
#include <vector>
#include "src/gemm/fp64/dots_by_lanes.cuh"
#include "src/gemm/fp64/dots_vector.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <int Square, bool Finishes, bool Across> dots_instance dots_by_lanes_of(const char* name) {
  return {.square = Square,
          .finishes = Finishes,
          .across = Across,
          .code = kernel_of<dots_by_lanes<Square, Finishes, Across>>(name)};
}
template <bool Across, int Rows, bool Finishes> dots_instance dots_vector_of(const char* name) {
  return {.lines_of_thread = Rows,
          .finishes = Finishes,
          .across = Across,
          .code = kernel_of<dots_vector<Across, Rows, Finishes>>(name)};
}

std::vector<dots_instance> dots_kernels() {
  return {dots_by_lanes_of<1, false, false>("gemm.dots-lanes-1"),
          dots_by_lanes_of<2, false, false>("gemm.dots-lanes-2"),
          dots_by_lanes_of<1, true, false>("gemm.dots-finish-lanes"),
          dots_by_lanes_of<1, false, true>("gemm.dots-across-1"),
          dots_by_lanes_of<2, false, true>("gemm.dots-across-2"),
          dots_by_lanes_of<1, true, true>("gemm.dots-finish-across"),
          dots_vector_of<false, 1, false>("gemm.dots-vector-1"),
          dots_vector_of<false, 2, false>("gemm.dots-vector-2"),
          dots_vector_of<true, 4, false>("gemm.dots-vector-across"),
          dots_vector_of<false, 2, true>("gemm.dots-finish-vector"),
          dots_vector_of<true, 4, true>("gemm.dots-finish-vector-across")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
