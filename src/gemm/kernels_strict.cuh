// The last step of the ladder (sm_80): by the size of C, and by how the operands lie in memory. Its variants for other
// strides and alignments are those of the step before (kernels_vector.cuh).
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/tiled.cuh>

#include "kernel_list.cuh"

namespace antiphase::mm {
inline namespace AP_TARGET {
namespace {

template <contiguous A, contiguous B> void add_sizes(std::vector<instance>& list) {
  add<strict_policy(A, B)>(list, "strict", "gemm.strict");
  add<strict_medium_policy(A, B)>(list, "strict", "gemm.strict-medium");
  add<strict_small_policy(A, B)>(list, "strict", "gemm.strict-small");
}

}  // namespace

std::vector<instance> strict_kernels() {
  using enum contiguous;
  std::vector<instance> list;
  add_with_parts<strict_policy(k, outer)>(list, "strict", "gemm.strict");  // A and B row-major
  add_with_parts<strict_medium_policy(k, outer)>(list, "strict", "gemm.strict-medium");
  add_with_parts<strict_small_policy(k, outer)>(list, "strict", "gemm.strict-small");
  add_sizes<outer, outer>(list);
  add_sizes<outer, k>(list);
  add_sizes<k, k>(list);
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::mm
