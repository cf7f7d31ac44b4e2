// SPDX-License-Identifier: Apache-2.0
// Kernels of attention in FP32 that copy asynchronously (sm_80).
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>
#include "library/attention/fp32/tiled.cuh"

#include "library/attention/fp32/fp32_kernels.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

std::vector<tiled_instance> double_buffered_kernels() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<tiled_instance>{
        {double_buffered_policies[I],
         kernel_of<tiled_attention<double_buffered_policies[I]>>("attention.double-buffered")}...};
  }
  (std::make_index_sequence<std::size(double_buffered_policies)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
