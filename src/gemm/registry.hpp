// SPDX-License-Identifier: Apache-2.0
// The lists of GEMM kernels: to add one, name it here and in src/CMakeLists.txt.
#pragma once
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/tensor_core_ladder.hpp>

#include "src/gemm/fp64/dots_product.hpp"
#include "src/gemm/operands/finish_pass.hpp"
#include "src/gemm/fp64/group_product.hpp"
#include "src/gemm/tf32/tf32_product.hpp"
#include "src/gemm/fp64/short_product.hpp"
#include "src/gemm/fp16/split_pass.hpp"
#include "src/gemm/fp16/split_product.hpp"
#include "src/gemm/fp64/fp64_product.hpp"
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
  LIST(fp64_instance, fp64_kernels)               \
  LIST(fp64_instance, fp64_async_kernels)         \
  LIST(fp64_instance, fp64_finish_kernels)        \
  LIST(fp64_instance, fp64_lanes_kernels)         \
  LIST(tf32_instance, tf32_kernels)               \
  LIST(group_instance, group_kernels)                 \
  LIST(group_table_instance, group_table_kernels)

namespace antiphase::gemms {

AP_REGISTRY(cpu, AP_GEMM_LISTS)
AP_IF_CUDA(AP_REGISTRY(cuda, AP_GEMM_LISTS))
AP_INSTANCES()

}  // namespace antiphase::gemms
