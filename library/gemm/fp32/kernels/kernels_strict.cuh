// SPDX-License-Identifier: Apache-2.0
// The last step of the ladder (sm_80): by the size of C, and by how the operands lie in memory. For large C,
// its variants for other strides and alignments are those of the step before (kernels_vector.cuh), whose sums
// are the same.
#include <antiphase/gemm/ladder.hpp>
#include "library/gemm/fp32/tiled.cuh"

#include "library/gemm/fp32/kernels/kernel_list.cuh"

namespace antiphase::gemms {
inline namespace AP_TARGET {
namespace {

template <contiguous A, contiguous B> void add_sizes(std::vector<instance>& list) {
  add<strict_policy(A, B)>(list, "strict", "gemm.strict");
  add<strict_medium_policy(A, B)>(list, "strict", "gemm.strict-medium");
  add<strict_small_policy(A, B)>(list, "strict", "gemm.strict-small");
}

template <contiguous A, contiguous B> void add_unaligned(std::vector<instance>& list) {
  add<unaligned(strict_medium_policy(A, B), A, B)>(list, "strict", "gemm.strict-medium-unaligned");
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
  add_unaligned<k, outer>(list);
  add_unaligned<outer, k>(list);
  add_unaligned<k, k>(list);
  add_with_parts<strict_medium_policy(neither, neither)>(list, "strict", "gemm.strict-medium-general");
  add_with_parts<strict_small_policy(neither, neither)>(list, "strict", "gemm.strict-small-general");
  return list;
}

}  // namespace AP_TARGET
}  // namespace antiphase::gemms
