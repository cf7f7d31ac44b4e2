// SPDX-License-Identifier: Apache-2.0
// The lists of GEMM kernels: to add one, name it here and in src/CMakeLists.txt.
#pragma once
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>

#include "src/gemm/dots/dots_product.hpp"
#include "src/gemm/finish/finish_pass.hpp"
#include "src/gemm/group/group_product.hpp"
#include "src/gemm/narrow/narrow_product.hpp"
#include "src/gemm/short/short_product.hpp"
#include "src/gemm/split/split_pass.hpp"
#include "src/gemm/split/split_product.hpp"
#include "src/gemm/stream/stream_product.hpp"
#include "src/registry.hpp"

#define AP_GEMM_LISTS(LIST)                           \
  LIST(instance, plain_kernels)                       \
  LIST(instance, async_kernels)                       \
  LIST(instance, vector_kernels)                      \
  LIST(instance, strict_kernels)                      \
  LIST(tensor_core_instance, tensor_core_kernels)     \
  LIST(tensor_core_instance, tensor_core_tma_kernels) \
  LIST(product_instance, split_kernels)               \
  LIST(product_instance, split_mma_kernels)           \
  LIST(split_pass_instance, split_pass_kernels)       \
  LIST(split_pass_instance, split_pass_alone_kernels) \
  LIST(short_instance, short_kernels)                 \
  LIST(dots_instance, dots_kernels)                   \
  LIST(finish_instance, finish_kernels)               \
  LIST(stream_instance, stream_kernels)               \
  LIST(stream_instance, stream_async_kernels)         \
  LIST(stream_instance, stream_finish_kernels)        \
  LIST(stream_instance, stream_lanes_kernels)         \
  LIST(narrow_instance, narrow_kernels)               \
  LIST(group_instance, group_kernels)                 \
  LIST(group_table_instance, group_table_kernels)

namespace antiphase::gemms {

AP_REGISTRY(cpu, AP_GEMM_LISTS)
AP_IF_CUDA(AP_REGISTRY(cuda, AP_GEMM_LISTS))
AP_INSTANCES()

}  // namespace antiphase::gemms
