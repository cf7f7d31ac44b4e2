// SPDX-License-Identifier: Apache-2.0
// Graphs, in a build without CUDA.
#include <antiphase/core/error.hpp>

#include "tool/measure/graphs/graph.hpp"

namespace antiphase::tool {
namespace {

[[noreturn]] void refuse() {
  throw not_supported("this build was made without a CUDA toolkit, so it has no graphs");
}

}  // namespace

work in_graph(const context&, const work&, int) { refuse(); }
std::vector<std::string> kernels_of(const context&, const work&) { refuse(); }

}  // namespace antiphase::tool
