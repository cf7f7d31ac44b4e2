// SPDX-License-Identifier: Apache-2.0
// The kernels of attention's forward on Tensor Cores, and the passes that split its operands (sm_90a).
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>
#include "library/attention/fp16/forward.cuh"
#include "library/attention/fp16/split_pass.cuh"

#include "library/attention/fp16/fp16_kernels.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

std::vector<forward_instance> forward_kernels() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<forward_instance>{
        {fp16::forward[I].policy,
         kernel_of<forward_kernel<fp16::forward[I].policy>>(fp16::forward[I].name)}...};
  }
  (std::make_index_sequence<std::size(fp16::forward)>());
}

std::vector<split_instance> split_kernels() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<split_instance>{
        {fp16::depths[I].depth, kernel_of<split_pass<fp16::depths[I].depth>>(fp16::depths[I].split)}...};
  }
  (std::make_index_sequence<std::size(fp16::depths)>());
}
std::vector<contract_instance> contract_kernels() {
  return {{kernel_of<contract_pass>("attention.contract")}};
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
