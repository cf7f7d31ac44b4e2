// The GEMM kernels that copy asynchronously (sm_80), up to double-buffered registers.
#include <antiphase/gemm/ladder.hpp>
#include "src/gemm/ladder/tiled.cuh"

#include "kernel_list.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {

std::vector<instance> async_kernels() {
  std::vector<instance> list;
  add_with_parts<async_policy(2)>(list, "async-2", "gemm.async-2");
  add_with_parts<async_policy(3)>(list, "async-3", "gemm.async-3");
  add_with_parts<async_policy(4)>(list, "async-4", "gemm.async-4");
  add_with_parts<register_tile_policy>(list, "register-tile", "gemm.register-tile");
  add_with_parts<fragments_policy>(list, "fragments", "gemm.fragments");
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
