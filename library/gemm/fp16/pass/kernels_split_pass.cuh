// SPDX-License-Identifier: Apache-2.0
// The split pass for devices with clusters (sm_90).
#include <vector>
#include "library/gemm/fp16/fp16_kernels.hpp"
#include "library/gemm/fp16/pass/split_pass.cuh"
#include "library/gemm/operands/tiled/from_table.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

template <auto P> using pass_of = split_pass<P>;
std::vector<split_pass_instance> split_pass_kernels() { return from_table<fp16::passes, pass_of>(); }

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
