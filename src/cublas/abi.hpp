// SPDX-License-Identifier: Apache-2.0
// What of cuBLAS's binary interface the interposer knows: numbers, and how functions are called. No header of cuBLAS is needed, and any of
// its versions 11 to 13 may be in use.
#pragma once
#include <cstdint>

namespace antiphase::cublas {

using handle = void*;  // cublasHandle_t

// Of cublasStatus_t, cublasPointerMode_t, cublasMath_t, cudaDataType, cublasComputeType_t.
constexpr int status_success = 0, status_not_initialized = 1, status_execution_failed = 13;
constexpr int pointers_of_host = 0;
constexpr int math_default = 0, math_without_reduced_sums = 16;  // a flag, of sums in 16 bits only
constexpr int type_f32 = 0;
constexpr int compute_32f = 68;
// Of cublasOperation_t. The conjugate of a real matrix is itself.
constexpr int as_it_is = 0, is_transposed = 1, is_conjugate = 2;

template <class Int>
using sgemm_function = int(handle, int, int, Int, Int, Int, const float*, const float*, Int, const float*, Int, const float*, float*, Int);
template <class Int> using sgemm_ex_function = int(handle, int, int, Int, Int, Int, const float*, const void*, int, Int, const void*, int,
                                                   Int, const float*, void*, int, Int);
template <class Int> using gemm_ex_function = int(handle, int, int, Int, Int, Int, const void*, const void*, int, Int, const void*, int,
                                                  Int, const void*, void*, int, Int, int, int);
template <class Int> using sgemm_strided_function = int(handle, int, int, Int, Int, Int, const float*, const float*, Int, long long,
                                                        const float*, Int, long long, const float*, float*, Int, long long, Int);
template <class Int> using gemm_strided_ex_function = int(handle, int, int, Int, Int, Int, const void*, const void*, int, Int, long long,
                                                          const void*, int, Int, long long, const void*, void*, int, Int, long long, Int,
                                                          int, int);

}  // namespace antiphase::cublas
