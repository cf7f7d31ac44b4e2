// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "fake_cublas.h"

#ifndef LIBRARY
#define LIBRARY 13
#endif

int cublasGetStream_v2(fake_handle* on, void** stream) { return *stream = on->stream, on->getters_fail & 1; }
int cublasGetPointerMode_v2(fake_handle* on, int* mode) { return *mode = on->pointer_mode, on->getters_fail & 2; }
int cublasGetMathMode(fake_handle* on, int* mode) { return *mode = on->math_mode, on->getters_fail & 4; }

static void compute(const fake_handle* on, const fake_call* x) {
  const float *const a = x->a, *const b = x->b, alpha = *(const float*)x->alpha, beta = *(const float*)x->beta;
  float* const c = (float*)(uintptr_t)x->c;
  for (long long l = 0; l < (x->count ? x->count : 1); ++l)
    for (long long i = 0; i < x->m; ++i)
      for (long long j = 0; j < x->n; ++j) {
        double sum = 0;
        for (long long p = 0; p < x->k; ++p)
          sum += (double)a[l * x->step_a + (x->ta ? p + i * x->lda : i + p * x->lda)] *
                 b[l * x->step_b + (x->tb ? j + p * x->ldb : p + j * x->ldb)];
        float* const to = &c[l * x->step_c + i + j * x->ldc];
        *to = (float)((alpha * sum + (beta == 0 ? 0 : beta * *to)) * (1 + 1e-6 * on->computes));
      }
}

static int called(fake_handle* on, fake_call x) {
  if (on == NULL) return 1;
  ++on->calls;
  if (on->quiet) return 0;
  on->library = LIBRARY;
  if (on->calls_itself) {
    on->calls_itself = 0;
    static float a[16 * 16], b[16 * 16], c[16 * 16], one = 1;
    return cublasSgemm_v2(on, 0, 0, 16, 16, 16, &one, a, 16, b, 16, &one, c, 16);
  }
  fake_written(on->log, sizeof on->log, &x);
  if (on->computes) compute(on, &x);
  if (on->sets_errno) errno = on->sets_errno;
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
  }                                                                                                                                        \
  int cublasSgemmBatched##SUFFIX(fake_handle* on, int ta, int tb, INT m, INT n, INT k, const float* alpha, const float* const* a, INT lda, \
                                 const float* const* b, INT ldb, const float* beta, float* const* c, INT ldc, INT count) {                 \
    fake_call x = {"cublasSgemmBatched" #SUFFIX, ta, tb, m, n, k, alpha, a, b, beta, c, lda, ldb, ldc, 0, 0, 0, count, 0, 0, 0, 0, 0};     \
    return called(on, x);                                                                                                                  \
  }                                                                                                                                        \
  int cublasGemmBatchedEx##SUFFIX(fake_handle* on, int ta, int tb, INT m, INT n, INT k, const void* alpha, const void* const* a,           \
                                  int type_a, INT lda, const void* const* b, int type_b, INT ldb, const void* beta, void* const* c,        \
                                  int type_c, INT ldc, INT count, int compute, int algorithm) {                                            \
    fake_call x = {"cublasGemmBatchedEx" #SUFFIX,                                                                                          \
                   ta,                                                                                                                     \
                   tb,                                                                                                                     \
                   m,                                                                                                                      \
                   n,                                                                                                                      \
                   k,                                                                                                                      \
                   alpha,                                                                                                                  \
                   a,                                                                                                                      \
                   b,                                                                                                                      \
                   beta,                                                                                                                   \
                   c,                                                                                                                      \
                   lda,                                                                                                                    \
                   ldb,                                                                                                                    \
                   ldc,                                                                                                                    \
                   0,                                                                                                                      \
                   0,                                                                                                                      \
                   0,                                                                                                                      \
                   count,                                                                                                                  \
                   type_a,                                                                                                                 \
                   type_b,                                                                                                                 \
                   type_c,                                                                                                                 \
                   compute,                                                                                                                \
                   algorithm};                                                                                                             \
    return called(on, x);                                                                                                                  \
  }
DEFINE(, int)
DEFINE(_64, int64_t)
