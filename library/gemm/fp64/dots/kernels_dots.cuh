// SPDX-License-Identifier: Apache-2.0
// The kernels of policy fp64-dots (sm_75).
#pragma once
#include <type_traits>
#include <vector>
#include "library/gemm/fp64/dots/dots_by_lanes.cuh"
#include "library/gemm/fp64/dots/dots_vector.cuh"
#include "library/gemm/operands/tiled/from_table.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <dots_policy P> struct dots_code { using type = dots_by_lanes<P.square, P.finishes, P.across>; };
template <dots_policy P>
requires(P.for_vector()) struct dots_code<P> {
  using type = dots_vector<P.across, P.lines_of_thread, P.finishes>;
};
template <auto P> using dots_code_of = typename dots_code<P>::type;
std::vector<dots_instance> dots_kernels() { return from_table<dots_table, dots_code_of>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
