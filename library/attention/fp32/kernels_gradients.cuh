// SPDX-License-Identifier: Apache-2.0
// Kernels of attention's gradients in FP32.
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>
#include "library/attention/fp32/backward.cuh"

#include "library/attention/fp32/fp32_kernels.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

std::vector<dots_instance> dots_kernels() { return {{kernel_of<row_dots>("attention.dots")}}; }

std::vector<softmax_instance> softmax_kernels() {
  return {{kernel_of<softmax_of_rows>("attention.softmax-of-rows")}};
}

std::vector<backward_instance> backward_kernels() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<backward_instance>{
        {backward_policies[I], kernel_of<attention_gradient<backward_policies[I]>>(
                                   backward_policies[I].owner == owned::keys ? "attention.gradient-kv"
                                                                             : "attention.gradient-q")}...};
  }
  (std::make_index_sequence<std::size(backward_policies)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
