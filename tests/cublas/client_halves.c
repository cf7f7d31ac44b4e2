// SPDX-License-Identifier: Apache-2.0
// A client of cuBLAS and cuBLASLt with products in 16 bits, which the interposer takes if all are to be
// batch-invariant: whole numbers so small that every sum and result is exact.
#include <stdio.h>
#include <string.h>

#include "fake_cublas.h"
#include "fake_cublas_lt.h"

enum { ROOM = 3000, F32 = 0, F16 = 2, BF16 = 14, M = 13, N = 9, K = 11 };
enum { EX, STRIDED, LT, WAYS };

static uint16_t a[ROOM], b[ROOM];
static uint32_t c[ROOM], before[ROOM], other[ROOM], bias[40];  // of 16 or 32 bits
static float alpha, beta;
static fake_call x;
static fake_handle on;
static fake_attributes how, of_a, of_b, of_c, of_d;
static const void* added;
static int way, by_rows, faults, seen[2];

static uint32_t bits_of(float v, int type) {
  uint32_t u;
  memcpy(&u, &v, sizeof u);
  if (type == F32) return u;
  if (type == BF16) return u >> 16;
  return v == 0 ? 0 : (u >> 16 & 0x8000) | ((u >> 23 & 255) - 112) << 10 | (u >> 13 & 1023);
}
static void put(void* to, int i, int type, float v) {
  const uint32_t u = bits_of(v, type);
  memcpy((char*)to + i * (type == F32 ? 4 : 2), &u, type == F32 ? 4 : 2);
}
static int whole(int i, int step, int range) { return i * step % range - range / 2; }
static int of_element(int operand, long long i) {
  static const int steps[] = {7919, 104729, 31, 17, 53};
  return whole((int)i, steps[operand], operand < 2 ? 5 : 9);
}

static void set(fake_attributes* of, int which, size_t bytes, uint64_t value) {
  of->value[which] = value, of->bytes[which] = bytes;
}
static fake_attributes laid_out(int type, int rows, int columns, long long ld, long long step) {
  fake_attributes l;
  memset(&l, 0, sizeof l);
  set(&l, 0, 4, (uint64_t)type), set(&l, 1, 4, 0), set(&l, 2, 8, (uint64_t)rows),
      set(&l, 3, 8, (uint64_t)columns);
  set(&l, 4, 8, (uint64_t)ld), set(&l, 5, 4, x.count ? (uint64_t)x.count : 1), set(&l, 6, 8, (uint64_t)step);
  return l;
}
static void usual(int by, int in, int out, int op_a, int op_b) {
  way = by, by_rows = 0, alpha = 1, beta = 0, added = c;
  memset(&on, 0, sizeof on), memset(&how, 0, sizeof how);
  for (int i = 0; i < ROOM; ++i) {
    put(a, i, in, (float)of_element(0, i)), put(b, i, in, (float)of_element(1, i));
    if (i < ROOM / 2 || out != F32)
      put(c, i, out, (float)of_element(2, i)), put(other, i, out, (float)of_element(3, i));
  }
  for (int i = 0; i < 40; ++i) put(bias, i, out, (float)of_element(4, i));
  memcpy(before, c, sizeof c);
  x = (fake_call){.name = by == EX ? "cublasGemmEx" : "cublasGemmStridedBatchedEx",
                  .op_a = op_a,
                  .op_b = op_b,
                  .m = M,
                  .n = N,
                  .k = K,
                  .alpha = &alpha,
                  .a = a,
                  .b = b,
                  .beta = &beta,
                  .c = c,
                  .lda = (op_a ? K : M) + 3,
                  .ldb = (op_b ? N : K) + 2,
                  .ldc = M + 1,
                  .type_a = in,
                  .type_b = in,
                  .type_c = out,
                  .compute = 68,
                  .algorithm = -1};
  if (by != EX) x.count = 3, x.step_a = 0, x.step_b = 301, x.step_c = (M + 1) * N + 5;
  const int codes[] = {68,   0, 0, op_a,
                       op_b, 0, 2, 1};  // compute, scale, pointers, operations, fill, epilogue
  for (int i = 0; i < 8; ++i) set(&how, i, 4, (uint64_t)codes[i]);
}
// The layouts of cuBLASLt follow from the call as it stands.
static void lay_out(void) {
  of_a = laid_out(x.type_a, x.op_a ? K : M, x.op_a ? M : K, x.lda, x.step_a);
  of_b = laid_out(x.type_b, x.op_b ? N : K, x.op_b ? K : N, x.ldb, x.step_b);
  of_d = laid_out(x.type_c, M, N, by_rows ? N + 4 : x.ldc, x.step_c);
  set(&of_d, 1, 4, (uint64_t)by_rows);
  of_c = of_d;
}

static int call(fake_lt_handle* lt) {
  void* const d = (void*)(uintptr_t)x.c;
  if (way == EX)
    return cublasGemmEx(&on, x.op_a, x.op_b, (int)x.m, (int)x.n, (int)x.k, x.alpha, x.a, x.type_a, (int)x.lda,
                        x.b, x.type_b, (int)x.ldb, x.beta, d, x.type_c, (int)x.ldc, x.compute, x.algorithm);
  if (way == STRIDED)
    return cublasGemmStridedBatchedEx(&on, x.op_a, x.op_b, (int)x.m, (int)x.n, (int)x.k, x.alpha, x.a,
                                      x.type_a, (int)x.lda, x.step_a, x.b, x.type_b, (int)x.ldb, x.step_b,
                                      x.beta, d, x.type_c, (int)x.ldc, x.step_c, (int)x.count, x.compute,
                                      x.algorithm);
  return cublasLtMatmul(lt, &how, &alpha, a, &of_a, b, &of_b, &beta, added, &of_c, d, &of_d, NULL, NULL, 0,
                        NULL);
}

// Whether c is the product, and unchanged between and after its columns.
static int is_product(void) {
  static uint32_t expected[ROOM];
  memcpy(expected, before, sizeof expected);
  const int epilogue = way == LT ? (int)how.value[7] : 1;
  for (int l = 0; l < (x.count ? x.count : 1); ++l)
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        float sum = 0;
        for (int p = 0; p < K; ++p)
          sum += (float)(of_element(0, l * x.step_a + (x.op_a ? p + i * x.lda : i + p * x.lda)) *
                         of_element(1, l * x.step_b + (x.op_b ? j + p * x.ldb : p + j * x.ldb)));
        const int at = (int)(l * x.step_c + (by_rows ? i * (N + 4) + j : i + j * x.ldc));
        if (beta == 1) sum += (float)of_element(way == LT && added == other ? 3 : 2, at);
        if (epilogue & 4) sum += (float)of_element(4, i);
        if ((epilogue & 2) && sum < 0) sum = 0;
        put(expected, at, x.type_c, sum);
      }
  return memcmp(expected, c, sizeof c) == 0;
}

static void expect(const char* what, int taken) {
  char passed[2048];
  fake_lt_handle lt = {0, {0}};
  fake_written(passed, sizeof passed, &x);
  const int status = call(&lt), was_taken = on.calls + lt.calls == 0;
  const int right = was_taken ? is_product()
                              : memcmp(c, before, sizeof c) == 0 && on.calls + lt.calls == 1 &&
                                    (way == LT || strcmp(on.log, passed) == 0);
  if (status != 0 || was_taken != taken || !right)
    ++faults, printf("way %d, %s, %d %d: status %d, %s, %s\n", way, what, x.type_a, x.type_c, status,
                     was_taken ? "taken" : "passed on", right ? "right" : "wrong");
  ++seen[was_taken];
}

int client_main(int taken) {
#define CASE(what, is_taken, change) \
  usual(by, in, out, 1, 0), change, lay_out(), expect(what, taken && (is_taken))
  for (int by = 0; by < WAYS; ++by)
    for (int types = 0; types < 4; ++types) {
      const int in = types & 1 ? F16 : BF16, out = types & 2 ? F32 : in;
      for (int ops = 0; ops < 9; ++ops)
        usual(by, in, out, ops / 3, ops % 3), beta = (float)(ops & 1), lay_out(), expect("usual", taken);
      CASE("added", 1, beta = 1);
      CASE("alpha", 0, alpha = 2);
      CASE("beta", 0, beta = 0.5f);
      CASE("sums in 16 bits", 0, (x.compute = 64, set(&how, 0, 4, 64)));
      CASE("factors on the device", 0, (on.pointer_mode = 1, set(&how, 2, 4, 1)));
      CASE("another type of B", 0, x.type_b = in == F16 ? BF16 : F16);
      CASE("B of FP32", 0, x.type_b = F32);
      CASE("another type of C", 0, x.type_c = in == F16 ? BF16 : F16);
      CASE("lda", 0, x.lda = K - 1);
      CASE("C is B", 0, x.c = b);
      if (by != LT) {
        CASE("no terms", 0, x.k = 0);
        CASE("pedantic", 1, x.compute = 69);
        CASE("a mode of the handle", 1, on.math_mode = 3);
        continue;
      }
      const uint64_t place = (uint64_t)(uintptr_t)bias;
      CASE("bias", 1, (set(&how, 7, 4, 4), set(&how, 8, 8, place)));
      CASE("bias and C", 1, (beta = 1, set(&how, 7, 4, 4), set(&how, 8, 8, place)));
      CASE("relu and bias", 1, (set(&how, 7, 4, 6), set(&how, 8, 8, place)));
      CASE("bias of the result's type", 1,
           (set(&how, 7, 4, 4), set(&how, 8, 8, place), set(&how, 26, 4, (uint64_t)out)));
      CASE("bias of another type", 0,
           (set(&how, 7, 4, 4), set(&how, 8, 8, place), set(&how, 26, 4, (uint64_t)(out == F32 ? in : F32))));
      CASE("relu of a sum with C", 0, (beta = 1, set(&how, 7, 4, 2)));
      CASE("gelu with its input stored", 0, set(&how, 7, 4, 160));
      CASE("rows of D", 1, (by_rows = 1, x.step_c = M * (N + 4) + 5));
      CASE("members of D overlap", 0, by_rows = 1);
      CASE("bias along rows of D", 0,
           (by_rows = 1, x.step_c = M * (N + 4) + 5, set(&how, 7, 4, 4), set(&how, 8, 8, place)));
      CASE("C elsewhere", 1, (beta = 1, added = other));
      CASE("C elsewhere, not added", 1, added = other);
      usual(by, in, out, 1, 0), beta = 1, added = other, lay_out(),
                                set(&of_c, 0, 4, (uint64_t)(out ? F32 : in));
      expect("C of another type", 0);
    }
  printf("%d taken, %d passed on, %d faults\n", seen[1], seen[0], faults);
  return faults != 0;
}
