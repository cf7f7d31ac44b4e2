// SPDX-License-Identifier: Apache-2.0
// Work launched as a CUDA graph.
#pragma once
#include <antiphase/context.hpp>
#include <string>
#include <vector>

#include "tool/measure/measure.hpp"

namespace antiphase::tool {

// Returns a launch of a graph that holds `runs` consecutive runs of the work. The work runs once before the
// capture, so that it can allocate memory that it keeps. It uses the graph's own stream, so two launches must
// not overlap. Throws not_supported on the CPU executor, in a build without CUDA, and, with the reason, if
// the work cannot be captured.
work in_graph(const context& where, const work& run, int runs);

// Mangled names of the kernels that a run of the work launches on a GPU: in order, one per launch. The work
// is captured, not run; but if it needs memory that is kept for its stream, it is run once first. Therefore
// call this after measuring, with work that may run once more. Throws not_supported as in_graph() does.
std::vector<std::string> kernels_of(const context& where, const work& run);

}  // namespace antiphase::tool
