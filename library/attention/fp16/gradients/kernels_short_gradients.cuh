// SPDX-License-Identifier: Apache-2.0
// The kernels of the gradients of short sequences on Tensor Cores (sm_90a).
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>
#include "library/attention/fp16/gradients/short_gradients.cuh"

#include "library/attention/fp16/fp16_kernels.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

std::vector<short_gradient_instance> short_gradient_kernels() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<short_gradient_instance>{
        {fp16::short_gradients[I].policy, kernel_of<short_gradient_kernel<fp16::short_gradients[I].policy>>(
                                              fp16::short_gradients[I].name)}...};
  }
  (std::make_index_sequence<std::size(fp16::short_gradients)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
