// SPDX-License-Identifier: Apache-2.0
// The cuBLAS functions that the interposer replaces, with the real names, arguments and version node. They
// record their calls and compute nothing, unless asked to.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "preload/cublas/interpose/entry_points.h"

typedef struct fake_handle {
  void* stream;
  int pointer_mode, math_mode;
  int getters_fail;  // bits: of the stream, the pointer mode, the math mode
  int calls_itself;  // the product calls another one by name, as a library may
  // products of FP32 that are not batched really are computed, off by this part of a millionth; functions of
  // triangles too, in FP32
  int computes;
  int fails_at;    // the call of this number returns 14, cuBLAS's internal error
  int quiet;       // records nothing
  int sets_errno;  // sets errno to this, if nonzero
  int library;     // which fake was called
  int calls;
  char log[2048];  // of the last call
} fake_handle;

int cublasGetStream_v2(fake_handle*, void**);
int cublasGetPointerMode_v2(fake_handle*, int*);
int cublasGetMathMode(fake_handle*, int*);
#define FAKE_PARAMETER(type, name) , type name
#define FAKE_DECLARATION(entry, SIGNATURE, INT) int entry(fake_handle* on SIGNATURE(FAKE_PARAMETER, INT));
#define FAKE_TRIANGLE(entry, SIGNATURE, INT, family) FAKE_DECLARATION(entry, SIGNATURE, INT)
#define FAKE_NONE(...)
AP_CUBLAS_ENTRIES(FAKE_DECLARATION, FAKE_TRIANGLE, FAKE_NONE)

// A call as logged: all functions use one form.
typedef struct fake_call {
  const char* name;
  int op_a, op_b, side, fill, diagonal;
  long long m, n, k;
  const void *alpha, *a, *b, *beta, *c;
  long long lda, ldb, ldc, step_a, step_b, step_c, count;
  int type_a, type_b, type_c, compute, algorithm;
} fake_call;
static inline int fake_written(char* to, size_t room, const fake_call* x) {
  return snprintf(to, room,
                  "%s(%d, %d, %d%d%d, %lld, %lld, %lld, %p, %p %d %lld %lld, %p %d %lld %lld, %p, %p %d %lld "
                  "%lld, %lld, %d, %d)",
                  x->name, x->op_a, x->op_b, x->side, x->fill, x->diagonal, x->m, x->n, x->k, x->alpha, x->a,
                  x->type_a, x->lda, x->step_a, x->b, x->type_b, x->ldb, x->step_b, x->beta, x->c, x->type_c,
                  x->ldc, x->step_c, x->count, x->compute, x->algorithm);
}
