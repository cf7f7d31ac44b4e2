// Work that is launched as a CUDA graph.
#pragma once
#include <antiphase/context.hpp>

#include "tool/measure/measure.hpp"

namespace antiphase::tool {

// One launch of a graph that holds `runs` runs of the work, one after the other. The work is run once before, so that it may allocate what
// it keeps; it works on a stream of its own and not at the same time as another run of the graph. Throws not_supported on the CPU executor,
// in a build without CUDA, and, with the reason, where the work cannot be captured.
work in_graph(const context& where, const work& run, int runs);

}  // namespace antiphase::tool
