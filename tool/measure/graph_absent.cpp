// Graphs, in a build without CUDA.
#include <antiphase/core/error.hpp>

#include "tool/measure/graph.hpp"

namespace antiphase::tool {

work in_graph(const context&, const work&, int) { throw not_supported("this build was made without a CUDA toolkit, so it has no graphs"); }

}  // namespace antiphase::tool
