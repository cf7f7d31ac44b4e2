// SPDX-License-Identifier: Apache-2.0
// The cuBLAS functions that the interposer replaces, one row each. The enumeration, the names and the
// definitions are generated from these rows. So are the fake cuBLAS of the tests and its clients, which are
// C.
#pragma once
#include <stdint.h>

// A signature lists the parameters after the handle: P(type, name). INT is the type of extents; names are
// those of the members of `product`.
// clang-format off
#define AP_SGEMM(P, INT)                                                         \
  P(int, op_a) P(int, op_b) P(INT, m) P(INT, n) P(INT, k) P(const float*, alpha) \
  P(const float*, a) P(INT, lda)                                                 \
  P(const float*, b) P(INT, ldb) P(const float*, beta)                           \
  P(float*, c) P(INT, ldc)
#define AP_SGEMM_EX(P, INT)                                                      \
  P(int, op_a) P(int, op_b) P(INT, m) P(INT, n) P(INT, k) P(const float*, alpha) \
  P(const void*, a) P(int, type_a) P(INT, lda)                                   \
  P(const void*, b) P(int, type_b) P(INT, ldb) P(const float*, beta)             \
  P(void*, c) P(int, type_c) P(INT, ldc)
#define AP_GEMM_EX(P, INT)                                                      \
  P(int, op_a) P(int, op_b) P(INT, m) P(INT, n) P(INT, k) P(const void*, alpha) \
  P(const void*, a) P(int, type_a) P(INT, lda)                                  \
  P(const void*, b) P(int, type_b) P(INT, ldb) P(const void*, beta)             \
  P(void*, c) P(int, type_c) P(INT, ldc) P(int, compute) P(int, algorithm)
#define AP_SGEMM_STRIDED(P, INT)                                                 \
  P(int, op_a) P(int, op_b) P(INT, m) P(INT, n) P(INT, k) P(const float*, alpha) \
  P(const float*, a) P(INT, lda) P(long long, step_a)                            \
  P(const float*, b) P(INT, ldb) P(long long, step_b) P(const float*, beta)      \
  P(float*, c) P(INT, ldc) P(long long, step_c) P(INT, count)
#define AP_GEMM_STRIDED_EX(P, INT)                                                       \
  P(int, op_a) P(int, op_b) P(INT, m) P(INT, n) P(INT, k) P(const void*, alpha)          \
  P(const void*, a) P(int, type_a) P(INT, lda) P(long long, step_a)                      \
  P(const void*, b) P(int, type_b) P(INT, ldb) P(long long, step_b) P(const void*, beta) \
  P(void*, c) P(int, type_c) P(INT, ldc) P(long long, step_c) P(INT, count) P(int, compute) P(int, algorithm)
#define AP_SGEMM_BATCHED(P, INT)                                                 \
  P(int, op_a) P(int, op_b) P(INT, m) P(INT, n) P(INT, k) P(const float*, alpha) \
  P(const float* const*, a) P(INT, lda)                                          \
  P(const float* const*, b) P(INT, ldb) P(const float*, beta)                    \
  P(float* const*, c) P(INT, ldc) P(INT, count)
#define AP_GEMM_BATCHED_EX(P, INT)                                              \
  P(int, op_a) P(int, op_b) P(INT, m) P(INT, n) P(INT, k) P(const void*, alpha) \
  P(const void* const*, a) P(int, type_a) P(INT, lda)                           \
  P(const void* const*, b) P(int, type_b) P(INT, ldb) P(const void*, beta)      \
  P(void* const*, c) P(int, type_c) P(INT, ldc) P(INT, count) P(int, compute) P(int, algorithm)
// Functions of a triangle. B of solves, which X replaces, is `c`.
#define AP_STRSM(P, INT)                                        \
  P(int, side) P(int, fill) P(int, op_a) P(int, diagonal)       \
  P(INT, m) P(INT, n) P(const float*, alpha)                    \
  P(const float*, a) P(INT, lda) P(float*, c) P(INT, ldc)
#define AP_STRMM(P, INT)                                        \
  P(int, side) P(int, fill) P(int, op_a) P(int, diagonal)       \
  P(INT, m) P(INT, n) P(const float*, alpha)                    \
  P(const float*, a) P(INT, lda) P(const float*, b) P(INT, ldb) \
  P(float*, c) P(INT, ldc)
#define AP_SSYMM(P, INT)                                         \
  P(int, side) P(int, fill) P(INT, m) P(INT, n)                  \
  P(const float*, alpha) P(const float*, a) P(INT, lda)          \
  P(const float*, b) P(INT, ldb) P(const float*, beta)           \
  P(float*, c) P(INT, ldc)
#define AP_SSYRK(P, INT)                                         \
  P(int, fill) P(int, op_a) P(INT, n) P(INT, k)                  \
  P(const float*, alpha) P(const float*, a) P(INT, lda)          \
  P(const float*, beta) P(float*, c) P(INT, ldc)
#define AP_SSYR2K(P, INT)                                        \
  P(int, fill) P(int, op_a) P(INT, n) P(INT, k)                  \
  P(const float*, alpha) P(const float*, a) P(INT, lda)          \
  P(const float*, b) P(INT, ldb) P(const float*, beta)           \
  P(float*, c) P(INT, ldc)

// PRODUCT(name, signature, INT), in the order of profiles; TRIANGLE: also its family in triangles.cpp;
// OTHER(name): defined by hand in entries.cpp.
#define AP_CUBLAS_ENTRIES(PRODUCT, TRIANGLE, OTHER)                   \
  PRODUCT(cublasSgemm_v2, AP_SGEMM, int)                              \
  PRODUCT(cublasSgemm_v2_64, AP_SGEMM, int64_t)                       \
  PRODUCT(cublasSgemmEx, AP_SGEMM_EX, int)                            \
  PRODUCT(cublasSgemmEx_64, AP_SGEMM_EX, int64_t)                     \
  PRODUCT(cublasGemmEx, AP_GEMM_EX, int)                              \
  PRODUCT(cublasGemmEx_64, AP_GEMM_EX, int64_t)                       \
  PRODUCT(cublasSgemmStridedBatched, AP_SGEMM_STRIDED, int)           \
  PRODUCT(cublasSgemmStridedBatched_64, AP_SGEMM_STRIDED, int64_t)    \
  PRODUCT(cublasGemmStridedBatchedEx, AP_GEMM_STRIDED_EX, int)        \
  PRODUCT(cublasGemmStridedBatchedEx_64, AP_GEMM_STRIDED_EX, int64_t) \
  PRODUCT(cublasSgemmBatched, AP_SGEMM_BATCHED, int)                  \
  PRODUCT(cublasSgemmBatched_64, AP_SGEMM_BATCHED, int64_t)           \
  PRODUCT(cublasGemmBatchedEx, AP_GEMM_BATCHED_EX, int)               \
  PRODUCT(cublasGemmBatchedEx_64, AP_GEMM_BATCHED_EX, int64_t)        \
  OTHER(cublasLtMatmul)                                               \
  TRIANGLE(cublasStrsm_v2, AP_STRSM, int, solve)                      \
  TRIANGLE(cublasStrsm_v2_64, AP_STRSM, int64_t, solve)               \
  TRIANGLE(cublasStrmm_v2, AP_STRMM, int, multiply)                   \
  TRIANGLE(cublasStrmm_v2_64, AP_STRMM, int64_t, multiply)            \
  TRIANGLE(cublasSsymm_v2, AP_SSYMM, int, symmetric)                  \
  TRIANGLE(cublasSsymm_v2_64, AP_SSYMM, int64_t, symmetric)           \
  TRIANGLE(cublasSsyrk_v2, AP_SSYRK, int, rank_k)                     \
  TRIANGLE(cublasSsyrk_v2_64, AP_SSYRK, int64_t, rank_k)              \
  TRIANGLE(cublasSsyrkx, AP_SSYR2K, int, rank_kx)                     \
  TRIANGLE(cublasSsyrkx_64, AP_SSYR2K, int64_t, rank_kx)              \
  TRIANGLE(cublasSsyr2k_v2, AP_SSYR2K, int, rank_2k)                  \
  TRIANGLE(cublasSsyr2k_v2_64, AP_SSYR2K, int64_t, rank_2k)
// clang-format on
