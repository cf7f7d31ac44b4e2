// SPDX-License-Identifier: Apache-2.0
// The parts of cuBLAS's binary interface that the interposer uses: constants and signatures. No header of
// cuBLAS is needed; any of its versions 11 to 13 may be in use.
#pragma once
#include <antiphase.h>

#include <cstddef>
#include <cstdint>

namespace antiphase::cublas {

using handle = void*;  // cublasHandle_t

// Values of cublasStatus_t, cublasPointerMode_t, cublasMath_t, cudaDataType, cublasComputeType_t.
constexpr int status_success = 0, status_not_initialized = 1, status_execution_failed = 13;
constexpr int pointers_of_host = 0;
constexpr int math_default = 0, math_tf32 = 3, math_16bfx9 = 4;
// Flags of a math mode: FP64 emulated by fixed point, and no reductions in 16 bits
constexpr int math_fp64_emulated = 8, math_without_reduced_sums = 16;
constexpr int type_f32 = 0, type_f16 = 2, type_bf16 = 14;
constexpr int compute_32f = 68, compute_32f_pedantic = 69, compute_32f_tf32 = 77, compute_32f_16bfx9 = 78;
// Values of cublasOperation_t. Conjugation leaves a real matrix as it is.
constexpr int as_it_is = 0, is_transposed = 1, is_conjugate = 2;
// Values of cublasSideMode_t, cublasFillMode_t and cublasDiagType_t.
constexpr int side_left = 0, side_right = 1, fill_lower = 0, fill_upper = 1, diagonal_stored = 0,
              diagonal_ones = 1;

// cuBLASLt: attributes of matmul descriptors and matrix layouts, read by number.
using description = void*;  // cublasLtMatmulDesc_t
using layout = void*;       // cublasLtMatrixLayout_t
using attribute_function = int(void*, int, void*, std::size_t, std::size_t*);

enum class of_product {
  compute = 0,
  scale = 1,
  pointers = 2,
  op_a = 3,
  op_b = 4,
  op_c = 5,
  fill = 6,
  epilogue = 7,
  bias = 8,
  bias_stride = 10,
  scale_of_a = 17,
  scale_of_b = 18,
  scale_of_c = 19,
  scale_of_d = 20,
  largest = 21,
  bias_type = 26,
};
enum class of_layout {
  type = 0,
  order = 1,
  rows = 2,
  columns = 3,
  ld = 4,
  count = 5,
  stride = 6,
  plane = 7,
  batch_mode = 8
};
constexpr int order_columns = 0, order_rows = 1;
constexpr int fill_full = 2;
// Bit mask of epilogues; none is 1.
constexpr std::uint32_t epilogue_none = 1, epilogue_relu = 2, epilogue_bias = 4, epilogue_gelu = 32,
                        epilogue_relu_gradient = 8, epilogue_bias_gradient = 16, epilogue_gelu_gradient = 64,
                        epilogue_auxiliary = 128, epilogue_sums_of_a = 256, epilogue_sums_of_b = 512;

}  // namespace antiphase::cublas
