// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "fake_cublas.h"

#ifndef LIBRARY
#define LIBRARY 13
#endif

int cublasGetStream_v2(fake_handle* on, void** stream) { return *stream = on->stream, on->getters_fail & 1; }
int cublasGetPointerMode_v2(fake_handle* on, int* mode) {
  return *mode = on->pointer_mode, on->getters_fail & 2;
}
int cublasGetMathMode(fake_handle* on, int* mode) { return *mode = on->math_mode, on->getters_fail & 4; }

static void compute(const fake_handle* on, const fake_call* x) {
  const float *const a = x->a, *const b = x->b, alpha = *(const float*)x->alpha,
                     beta = *(const float*)x->beta;
  float* const c = (float*)(uintptr_t)x->c;
  for (long long l = 0; l < (x->count ? x->count : 1); ++l)
    for (long long i = 0; i < x->m; ++i)
      for (long long j = 0; j < x->n; ++j) {
        double sum = 0;
        for (long long p = 0; p < x->k; ++p)
          sum += (double)a[l * x->step_a + (x->op_a ? p + i * x->lda : i + p * x->lda)] *
                 b[l * x->step_b + (x->op_b ? j + p * x->ldb : p + j * x->ldb)];
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

#define WRITE_DOWN(type, field) x.field = field;
#define DEFINE(entry, SIGNATURE, INT)                         \
  int entry(fake_handle* on SIGNATURE(FAKE_PARAMETER, INT)) { \
    fake_call x = {.name = #entry};                           \
    SIGNATURE(WRITE_DOWN, INT)                                \
    return called(on, x);                                     \
  }
AP_CUBLAS_ENTRIES(DEFINE, FAKE_NONE)
