// SPDX-License-Identifier: Apache-2.0
// How long the CPU executor will need.
#pragma once
#include <antiphase/gemm.hpp>
#include <antiphase/scan.hpp>

#include "tool/program/place.hpp"
#include "tool/program/progress.hpp"

namespace antiphase::tool {

// Found by running a small piece of the same shape with the same kernel; operands need not be there. Nothing
// on a GPU, and for products that cannot take long.
expected_time estimate(const context& where, const gemm_problem& p, const gemm_options& how);
// The same of a scan; `keys` may be null.
expected_time estimate(const context& where, const scans::problem& p, const scans::scan_keys* keys,
                       const scan_options& how);

// If it will take more than ten seconds or so, says how long, and what would be faster if anything is. `what`
// is a kernel, or all of a command's work. The line lives while that runs.
[[nodiscard]] progress_line warn_if_slow(const common_options& options, std::string_view what,
                                         const expected_time& time, std::string_view faster = "");

}  // namespace antiphase::tool
