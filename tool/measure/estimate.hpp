// SPDX-License-Identifier: Apache-2.0
// Expected duration of work on the CPU executor.
#pragma once
#include <antiphase/attention.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/scan.hpp>

#include "tool/program/place.hpp"
#include "tool/program/text/progress.hpp"

namespace antiphase::tool {

// Measures a small piece of the same shape with the same kernel; the operands need not exist. Returns zero on
// a GPU and for products that are surely quick.
expected_time estimate(const context& where, const gemm_problem& p, const gemm_options& how);
// Likewise for a scan; `keys` may be null.
expected_time estimate(const context& where, const scans::problem& p, const scans::scan_keys* keys,
                       const scan_options& how);
// Likewise for attention without bias, which takes as long: one head of few queries and keys stands for all.
expected_time estimate(const context& where, const attention_problem& p, std::string_view policy);

// If the work will take more than about ten seconds, says how long. `what` names the kernel, or all of a
// command's work. Keep the returned line alive while the work runs.
[[nodiscard]] progress_line warn_if_slow(const common_options& options, std::string_view what,
                                         const expected_time& time);

}  // namespace antiphase::tool
