// SPDX-License-Identifier: Apache-2.0
// Timelines of the kernels of a run, on a modelled machine.
#pragma once
#include <vector>

#include "model.hpp"

namespace antiphase::checker_detail {

// Kernels of a run with model::time_run(). Those without a ring have no spans.
std::vector<timed_kernel> timed_kernels(const model& m, const trace_options& options);

}  // namespace antiphase::checker_detail
