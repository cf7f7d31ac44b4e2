// SPDX-License-Identifier: Apache-2.0
// The kernels of attention's gradients on Tensor Cores, and the pass that splits their operands (sm_90a).
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>
#include "library/attention/fp16/gradients/backward.cuh"

#include "library/attention/fp16/fp16_kernels.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

std::vector<gradient_instance> gradient_kernels() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<gradient_instance>{
        {fp16::gradients[I].policy,
         kernel_of<gradient_kernel<fp16::gradients[I].policy>>(fp16::gradients[I].name)}...};
  }
  (std::make_index_sequence<std::size(fp16::gradients)>());
}

std::vector<gradient_split_instance> gradient_split_kernels() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<gradient_split_instance>{
        {fp16::depths[I].depth,
         kernel_of<gradient_split<fp16::depths[I].depth>>(fp16::depths[I].gradient_split)}...};
  }
  (std::make_index_sequence<std::size(fp16::depths)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
