// SPDX-License-Identifier: Apache-2.0
// Fourteen functions of cuBLAS with its names, arguments and version node, which write down how they were called and compute nothing.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct fake_handle {
  void* stream;
  int pointer_mode, math_mode;
  int getters_fail;  // bits: of the stream, the pointer mode, the math mode
  int calls_itself;  // the product calls another one by its name, as a library may
  int computes;      // products of FP32 that are not batched really are computed, off by this part of a millionth
  int quiet;         // writes nothing down
  int sets_errno;    // to this, if it is not 0
  int library;       // which fake was called
  int calls;
  char log[2048];  // of the last call
} fake_handle;

#define SGEMM(INT) (fake_handle*, int, int, INT, INT, INT, const float*, const float*, INT, const float*, INT, const float*, float*, INT)
#define SGEMM_EX(INT) \
  (fake_handle*, int, int, INT, INT, INT, const float*, const void*, int, INT, const void*, int, INT, const float*, void*, int, INT)
#define GEMM_EX(INT) \
  (fake_handle*, int, int, INT, INT, INT, const void*, const void*, int, INT, const void*, int, INT, const void*, void*, int, INT, int, int)
#define SGEMM_STRIDED(INT)                                                                                                                \
  (fake_handle*, int, int, INT, INT, INT, const float*, const float*, INT, long long, const float*, INT, long long, const float*, float*, \
   INT, long long, INT)
#define GEMM_STRIDED_EX(INT)                                                                                                            \
  (fake_handle*, int, int, INT, INT, INT, const void*, const void*, int, INT, long long, const void*, int, INT, long long, const void*, \
   void*, int, INT, long long, INT, int, int)
#define SGEMM_BATCHED(INT)                                                                                                               \
  (fake_handle*, int, int, INT, INT, INT, const float*, const float* const*, INT, const float* const*, INT, const float*, float* const*, \
   INT, INT)
#define GEMM_BATCHED_EX(INT)                                                                                                    \
  (fake_handle*, int, int, INT, INT, INT, const void*, const void* const*, int, INT, const void* const*, int, INT, const void*, \
   void* const*, int, INT, INT, int, int)

int cublasGetStream_v2(fake_handle*, void**);
int cublasGetPointerMode_v2(fake_handle*, int*);
int cublasGetMathMode(fake_handle*, int*);
int cublasSgemm_v2 SGEMM(int);
int cublasSgemm_v2_64 SGEMM(int64_t);
int cublasSgemmEx SGEMM_EX(int);
int cublasSgemmEx_64 SGEMM_EX(int64_t);
int cublasGemmEx GEMM_EX(int);
int cublasGemmEx_64 GEMM_EX(int64_t);
int cublasSgemmStridedBatched SGEMM_STRIDED(int);
int cublasSgemmStridedBatched_64 SGEMM_STRIDED(int64_t);
int cublasGemmStridedBatchedEx GEMM_STRIDED_EX(int);
int cublasGemmStridedBatchedEx_64 GEMM_STRIDED_EX(int64_t);
int cublasSgemmBatched SGEMM_BATCHED(int);
int cublasSgemmBatched_64 SGEMM_BATCHED(int64_t);
int cublasGemmBatchedEx GEMM_BATCHED_EX(int);
int cublasGemmBatchedEx_64 GEMM_BATCHED_EX(int64_t);

// A call as the log has it: all of them are written in one form.
typedef struct fake_call {
  const char* name;
  int ta, tb;
  long long m, n, k;
  const void *alpha, *a, *b, *beta, *c;
  long long lda, ldb, ldc, step_a, step_b, step_c, count;
  int type_a, type_b, type_c, compute, algorithm;
} fake_call;
static inline int fake_written(char* to, size_t room, const fake_call* x) {
  return snprintf(to, room, "%s(%d, %d, %lld, %lld, %lld, %p, %p %d %lld %lld, %p %d %lld %lld, %p, %p %d %lld %lld, %lld, %d, %d)",
                  x->name, x->ta, x->tb, x->m, x->n, x->k, x->alpha, x->a, x->type_a, x->lda, x->step_a, x->b, x->type_b, x->ldb, x->step_b,
                  x->beta, x->c, x->type_c, x->ldc, x->step_c, x->count, x->compute, x->algorithm);
}
