// SPDX-License-Identifier: Apache-2.0
// The scan by log(exp(a) + exp(b)), by the kernels of scan.cuh for each target.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/scan/problem.hpp>

namespace antiphase::scans {

// Of valid problems of f32 and f64.
namespace cpu {
launch_counts log_sum_exps(const context& where, const problem& p, stream on);
}
namespace cuda {
launch_counts log_sum_exps(const context& where, const problem& p, stream on);
}

}  // namespace antiphase::scans
