// SPDX-License-Identifier: Apache-2.0
// The lists of attention's kernels: to add one, name it here and in library/CMakeLists.txt.
#pragma once
#include "core/registry.hpp"
#include "library/attention/fp16/gradients/backward.hpp"
#include "library/attention/fp16/gradients/short_gradients.hpp"
#include "library/attention/fp32/fp32_kernels.hpp"

#define AP_ATTENTION_LISTS(LIST)                        \
  LIST(naive_instance, naive_kernels)                   \
  LIST(tiled_instance, tiled_kernels)                   \
  LIST(tiled_instance, double_buffered_kernels)         \
  LIST(dots_instance, dots_kernels)                     \
  LIST(few_keys_instance, few_keys_kernels)             \
  LIST(softmax_instance, softmax_kernels)               \
  LIST(backward_instance, backward_kernels)             \
  LIST(split_instance, split_kernels)                   \
  LIST(contract_instance, contract_kernels)             \
  LIST(forward_instance, forward_kernels)               \
  LIST(short_instance, short_sequence_kernels)          \
  LIST(short_gradient_instance, short_gradient_kernels) \
  LIST(gradient_instance, gradient_kernels)             \
  LIST(gradient_split_instance, gradient_split_kernels)

namespace antiphase::attentions {

AP_LISTS(attention_lists, AP_ATTENTION_LISTS)

}  // namespace antiphase::attentions
