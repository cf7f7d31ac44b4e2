// SPDX-License-Identifier: Apache-2.0
// The kernels of policy fp64 with TMA (sm_90a).
#pragma once
#include <vector>
#include "library/gemm/fp64/fp64_kernels.hpp"
#include "library/gemm/fp64/ring/ring_product.cuh"
#include "library/gemm/operands/tiled/from_table.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <auto P> using ring_kernel = ring_product<P>;
std::vector<fp64_instance> fp64_kernels() { return from_table<fp64::kernels_by_tma, ring_kernel>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
