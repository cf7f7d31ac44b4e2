// The recording GEMM kernels that need nothing newer than sm_75.
#include <antiphase/gemm/ladder.hpp>
#include "src/trace/traced.cuh"
#include <vector>

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<instance> traced_plain_kernels() {
  return {{"tiled", tiled_policy, kernel_of<traced<tiled_policy>>("gemm.tiled, recorded")},
          {"padded", padded_policy, kernel_of<traced<padded_policy>>("gemm.padded, recorded")},
          {"double-buffered", double_buffered_policy, kernel_of<traced<double_buffered_policy>>("gemm.double-buffered, recorded")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
