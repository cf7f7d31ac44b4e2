// CUB, in a build without a CUDA toolkit.
#include "tool/rivals.hpp"

namespace antiphase::tool {

rival cub_sums(const context&, element, const void*, void*, std::int64_t) {
  return {.name = "CUB", .why_not = "this build was made without a CUDA toolkit"};
}

}  // namespace antiphase::tool
