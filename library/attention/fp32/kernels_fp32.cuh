// SPDX-License-Identifier: Apache-2.0
// Kernels of attention in FP32 that every GPU runs: naive and tiled.
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>
#include "library/attention/fp32/few_keys.cuh"
#include "library/attention/fp32/naive.cuh"
#include "library/attention/fp32/tiled.cuh"

#include "library/attention/fp32/fp32_kernels.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

std::vector<naive_instance> naive_kernels() {
  return {
      {naive_stage::scores, kernel_of<naive_attention<naive_stage::scores>>("attention.naive.scores")},
      {naive_stage::softmax, kernel_of<naive_attention<naive_stage::softmax>>("attention.naive.softmax")},
      {naive_stage::product, kernel_of<naive_attention<naive_stage::product>>("attention.naive.product")}};
}

std::vector<few_keys_instance> few_keys_kernels() {
  return {{kernel_of<few_keys_attention>("attention.few-keys")}};
}

std::vector<tiled_instance> tiled_kernels() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<tiled_instance>{
        {tiled_policies[I], kernel_of<tiled_attention<tiled_policies[I]>>("attention.tiled")}...};
  }
  (std::make_index_sequence<std::size(tiled_policies)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
