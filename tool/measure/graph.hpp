// SPDX-License-Identifier: Apache-2.0
// Work that is launched as a CUDA graph.
#pragma once
#include <antiphase/context.hpp>
#include <string>
#include <vector>

#include "tool/measure/measure.hpp"

namespace antiphase::tool {

// One launch of a graph that holds `runs` runs of the work, one after the other. The work is run once before,
// so that it may allocate what it keeps; it works on a stream of its own and not at the same time as another
// run of the graph. Throws not_supported on the CPU executor, in a build without CUDA, and, with the reason,
// where the work cannot be captured.
work in_graph(const context& where, const work& run, int runs);

// The mangled names of the kernels that a run of the work launches on a GPU, in order, one for each launch.
// The work is captured, which runs nothing; if it needs memory that is kept for its stream, it is run once
// before. So it is to be called after times have been taken, with works that may run once more. Throws
// not_supported as in_graph() does.
std::vector<std::string> kernels_of(const context& where, const work& run);

}  // namespace antiphase::tool
