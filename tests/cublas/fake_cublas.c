// SPDX-License-Identifier: Apache-2.0
#include "fake_cublas.h"

#ifndef LIBRARY
#define LIBRARY 13
#endif

int cublasGetStream_v2(fake_handle* on, void** stream) { return *stream = on->stream, on->getters_fail & 1; }
int cublasGetPointerMode_v2(fake_handle* on, int* mode) { return *mode = on->pointer_mode, on->getters_fail & 2; }
int cublasGetMathMode(fake_handle* on, int* mode) { return *mode = on->math_mode, on->getters_fail & 4; }

static int called(fake_handle* on, fake_call x) {
  if (on == NULL) return 1;
  ++on->calls;
  on->library = LIBRARY;
  if (on->calls_itself) {
    on->calls_itself = 0;
    static float c[16 * 16], one = 1;
    return cublasSgemm_v2(on, 0, 0, 16, 16, 16, &one, c, 16, c, 16, &one, c, 16);
  }
  fake_written(on->log, sizeof on->log, &x);
  return 0;
}

#define DEFINE(SUFFIX, INT)                                                                                                                \
  int cublasSgemm_v2##SUFFIX(fake_handle* on, int ta, int tb, INT m, INT n, INT k, const float* alpha, const float* a, INT lda,            \
                             const float* b, INT ldb, const float* beta, float* c, INT ldc) {                                              \
    return called(on,                                                                                                                      \
                  (fake_call){"cublasSgemm_v2" #SUFFIX, ta, tb, m, n, k, alpha, a, b, beta, c, lda, ldb, ldc, 0, 0, 0, 0, 0, 0, 0, 0, 0}); \
  }                                                                                                                                        \
  int cublasSgemmEx##SUFFIX(fake_handle* on, int ta, int tb, INT m, INT n, INT k, const float* alpha, const void* a, int type_a, INT lda,  \
                            const void* b, int type_b, INT ldb, const float* beta, void* c, int type_c, INT ldc) {                         \
    return called(                                                                                                                         \
        on, (fake_call){                                                                                                                   \
                "cublasSgemmEx" #SUFFIX, ta, tb, m, n, k, alpha, a, b, beta, c, lda, ldb, ldc, 0, 0, 0, 0, type_a, type_b, type_c, 0, 0}); \
  }                                                                                                                                        \
  int cublasGemmEx##SUFFIX(fake_handle* on, int ta, int tb, INT m, INT n, INT k, const void* alpha, const void* a, int type_a, INT lda,    \
                           const void* b, int type_b, INT ldb, const void* beta, void* c, int type_c, INT ldc, int compute,                \
                           int algorithm) {                                                                                                \
    return called(on, (fake_call){"cublasGemmEx" #SUFFIX,                                                                                  \
                                  ta,                                                                                                      \
                                  tb,                                                                                                      \
                                  m,                                                                                                       \
                                  n,                                                                                                       \
                                  k,                                                                                                       \
                                  alpha,                                                                                                   \
                                  a,                                                                                                       \
                                  b,                                                                                                       \
                                  beta,                                                                                                    \
                                  c,                                                                                                       \
                                  lda,                                                                                                     \
                                  ldb,                                                                                                     \
                                  ldc,                                                                                                     \
                                  0,                                                                                                       \
                                  0,                                                                                                       \
                                  0,                                                                                                       \
                                  0,                                                                                                       \
                                  type_a,                                                                                                  \
                                  type_b,                                                                                                  \
                                  type_c,                                                                                                  \
                                  compute,                                                                                                 \
                                  algorithm});                                                                                             \
  }                                                                                                                                        \
  int cublasSgemmStridedBatched##SUFFIX(fake_handle* on, int ta, int tb, INT m, INT n, INT k, const float* alpha, const float* a, INT lda, \
                                        long long step_a, const float* b, INT ldb, long long step_b, const float* beta, float* c, INT ldc, \
                                        long long step_c, INT count) {                                                                     \
    return called(on, (fake_call){"cublasSgemmStridedBatched" #SUFFIX,                                                                     \
                                  ta,                                                                                                      \
                                  tb,                                                                                                      \
                                  m,                                                                                                       \
                                  n,                                                                                                       \
                                  k,                                                                                                       \
                                  alpha,                                                                                                   \
                                  a,                                                                                                       \
                                  b,                                                                                                       \
                                  beta,                                                                                                    \
                                  c,                                                                                                       \
                                  lda,                                                                                                     \
                                  ldb,                                                                                                     \
                                  ldc,                                                                                                     \
                                  step_a,                                                                                                  \
                                  step_b,                                                                                                  \
                                  step_c,                                                                                                  \
                                  count,                                                                                                   \
                                  0,                                                                                                       \
                                  0,                                                                                                       \
                                  0,                                                                                                       \
                                  0,                                                                                                       \
                                  0});                                                                                                     \
  }                                                                                                                                        \
  int cublasGemmStridedBatchedEx##SUFFIX(fake_handle* on, int ta, int tb, INT m, INT n, INT k, const void* alpha, const void* a,           \
                                         int type_a, INT lda, long long step_a, const void* b, int type_b, INT ldb, long long step_b,      \
                                         const void* beta, void* c, int type_c, INT ldc, long long step_c, INT count, int compute,         \
                                         int algorithm) {                                                                                  \
    return called(on, (fake_call){"cublasGemmStridedBatchedEx" #SUFFIX,                                                                    \
                                  ta,                                                                                                      \
                                  tb,                                                                                                      \
                                  m,                                                                                                       \
                                  n,                                                                                                       \
                                  k,                                                                                                       \
                                  alpha,                                                                                                   \
                                  a,                                                                                                       \
                                  b,                                                                                                       \
                                  beta,                                                                                                    \
                                  c,                                                                                                       \
                                  lda,                                                                                                     \
                                  ldb,                                                                                                     \
                                  ldc,                                                                                                     \
                                  step_a,                                                                                                  \
                                  step_b,                                                                                                  \
                                  step_c,                                                                                                  \
                                  count,                                                                                                   \
                                  type_a,                                                                                                  \
                                  type_b,                                                                                                  \
                                  type_c,                                                                                                  \
                                  compute,                                                                                                 \
                                  algorithm});                                                                                             \
  }
DEFINE(, int)
DEFINE(_64, int64_t)
