// SPDX-License-Identifier: Apache-2.0
// How long the CPU executor will need.
#pragma once
#include <antiphase/gemm.hpp>
#include <antiphase/scan.hpp>

#include "tool/program/place.hpp"

namespace antiphase::tool {

// Seconds, found by running a small piece of the same shape with the same kernel. 0 on a GPU, and for products that cannot take long.
double estimated_seconds(const context& where, const gemm_problem& p, const gemm_options& how);

// If it will take more than ten seconds or so, says how long, and what would be faster if that is offered.
void warn_if_slow(const common_options& options, const context& where, const gemm_problem& p, const gemm_options& how, reference also);

// The same of a scan; `keys` may be null.
double estimated_seconds(const context& where, const scans::problem& p, const scans::scan_keys* keys, const scan_options& how);
void warn_if_slow(const common_options& options, const context& where, const scans::problem& p, const scans::scan_keys* keys,
                  const scan_options& how);

}  // namespace antiphase::tool
