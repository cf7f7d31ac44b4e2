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

// Functions of triangles, by families; written so that the triangle is on the left.
enum family { solve, multiply, symmetric, rank_k, rank_kx, rank_2k };
static int is_stored(const fake_call* x, long long i, long long j) { return x->fill ? i <= j : i >= j; }
static float of_triangle(const fake_call* x, enum family f, long long i, long long j) {
  if ((x->op_a != 0) != (x->side != 0)) {
    const long long row = i;
    i = j, j = row;
  }
  const float* const a = x->a;
  if (f == symmetric) return is_stored(x, i, j) ? a[i + j * x->lda] : a[j + i * x->lda];
  return !is_stored(x, i, j) ? 0 : i == j && x->diagonal ? 1 : a[i + j * x->lda];
}
static float of_rank(const fake_call* x, const float* a, long long ld, long long i, long long p) {
  return x->op_a ? a[p + i * ld] : a[i + p * ld];
}
static void compute_rank_update(const fake_call* x, enum family f) {
  const float *const a = x->a, *const b = f == rank_k ? x->a : x->b;
  const float alpha = *(const float*)x->alpha, beta = *(const float*)x->beta;
  const long long ldb = f == rank_k ? x->lda : x->ldb;
  for (long long i = 0; i < x->n; ++i)
    for (long long j = 0; j < x->n; ++j) {
      if (!is_stored(x, i, j)) continue;
      float sum = 0;
      for (long long p = 0; p < x->k; ++p) {
        sum += of_rank(x, a, x->lda, i, p) * of_rank(x, b, ldb, j, p);
        if (f == rank_2k) sum += of_rank(x, b, ldb, i, p) * of_rank(x, a, x->lda, j, p);
      }
      float* const to = (float*)(uintptr_t)x->c + i + j * x->ldc;
      *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
    }
}
static void compute_triangle(const fake_call* x, enum family f) {
  if (f >= rank_k) {
    compute_rank_update(x, f);
    return;
  }
  const float alpha = *(const float*)x->alpha, beta = x->beta ? *(const float*)x->beta : 0;
  const long long order = x->side ? x->n : x->m, width = x->side ? x->m : x->n;
  const int is_lower = ((x->fill == 0) == (x->op_a == 0)) != (x->side != 0);
  const int starts_at_end = f == solve ? !is_lower : is_lower;
  float* const c = (float*)(uintptr_t)x->c;
  const float* const b = f == solve ? c : x->b;
  const long long ldb = f == solve ? x->ldc : x->ldb;
  for (long long w = 0; w < width; ++w)
    for (long long s = 0; s < order; ++s) {
      const long long i = starts_at_end ? order - 1 - s : s;
      float sum = 0;
      for (long long p = 0; p < order; ++p) {
        if (f != symmetric && (is_lower ? p > i : p < i)) continue;
        if (f == solve && p == i) continue;
        sum += of_triangle(x, f, i, p) * b[x->side ? w + p * ldb : p + w * ldb];
      }
      float* const to = &c[x->side ? w + i * x->ldc : i + w * x->ldc];
      if (f == solve)
        *to = (alpha * *to - sum) / of_triangle(x, f, i, i);
      else
        *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
    }
}

static int is_called(fake_handle* on) {
  if (on == NULL) return 0;
  ++on->calls;
  on->library = LIBRARY;
  return 1;
}
static int called(fake_handle* on, fake_call x) {
  if (!is_called(on)) return 1;
  if (on->quiet) return 0;
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
static int called_with_triangle(fake_handle* on, fake_call x, enum family f) {
  if (!is_called(on)) return 1;
  if (on->fails_at == on->calls) return 14;
  fake_written(on->log, sizeof on->log, &x);
  if (on->computes && !on->quiet) compute_triangle(&x, f);
  return 0;
}
#define DEFINE_TRIANGLE(entry, SIGNATURE, INT, family)        \
  int entry(fake_handle* on SIGNATURE(FAKE_PARAMETER, INT)) { \
    fake_call x = {.name = #entry};                           \
    SIGNATURE(WRITE_DOWN, INT)                                \
    return called_with_triangle(on, x, family);               \
  }
AP_CUBLAS_ENTRIES(DEFINE, DEFINE_TRIANGLE, FAKE_NONE)
