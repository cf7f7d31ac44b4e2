// SPDX-License-Identifier: Apache-2.0
// The kernels of attention of short sequences on Tensor Cores (sm_90a).
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>
#include "library/attention/fp16/short/short.cuh"

#include "library/attention/fp16/fp16_kernels.hpp"

namespace antiphase::attentions {
inline namespace AP_TARGET {

std::vector<short_instance> short_sequence_kernels() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<short_instance>{
        {fp16::short_sequences[I].policy,
         kernel_of<short_kernel<fp16::short_sequences[I].policy>>(fp16::short_sequences[I].name)}...};
  }
  (std::make_index_sequence<std::size(fp16::short_sequences)>());
}

}  // namespace AP_TARGET
}  // namespace antiphase::attentions
