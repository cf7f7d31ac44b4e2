// SPDX-License-Identifier: Apache-2.0
// A client of cuBLASLt: the products that the interposer takes, and those that it passes on.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cublas_lt.h"

enum { ROOM = 4000 };
enum {
  COMPUTE,
  SCALE,
  POINTERS,
  OP_A,
  OP_B,
  OP_C,
  FILL,
  EPILOGUE,
  BIAS,
  BIAS_STRIDE = 10,
  SCALE_OF_B = 18,
  LARGEST = 21,
  BIAS_TYPE = 26
};
enum { TYPE, ORDER, ROWS, COLUMNS, LD, COUNT, STRIDE, PLANE, BATCH_MODE };

static float a[ROOM], b[ROOM], c[ROOM], before[ROOM], elsewhere[ROOM], bias[200], alpha, beta;
static fake_attributes how, of_a, of_b, of_c, of_d;
static const float* add;  // C
static int faults, seen_taken, seen_passed;

static void set(fake_attributes* x, int which, size_t bytes, uint64_t value) {
  x->value[which] = value, x->bytes[which] = bytes;
}
static void set_signed(fake_attributes* x, int which, int32_t value) {
  x->bytes[which] = sizeof value;
  memcpy(&x->value[which], &value, sizeof value);
}

// rows x columns, stored by columns with a gap after each, or by rows.
static fake_attributes laid_out(int rows, int columns, int by_rows, int count, int stride) {
  fake_attributes x;
  memset(&x, 0, sizeof x);
  set(&x, TYPE, 4, 0), set(&x, ORDER, 4, (uint64_t)by_rows), set(&x, ROWS, 8, (uint64_t)rows),
      set(&x, COLUMNS, 8, (uint64_t)columns);
  set(&x, LD, 8, (uint64_t)((by_rows ? columns : rows) + 2)), set(&x, COUNT, 4, (uint64_t)count),
      set(&x, STRIDE, 8, (uint64_t)stride), set(&x, PLANE, 8, 0);
  return x;  // no batch mode: older versions lack the attribute
}
// Column-major, except those of a, b and d whose bit is set in `by_rows`.
static void usual(int ta, int tb, int by_rows, int count) {
  const int m = 13, n = 9, k = 11;
  alpha = -1.25f, beta = 0.5f, add = c;
  for (int i = 0; i < ROOM; ++i) {
    a[i] = (float)((i * 7919) % 101 - 50) / 16;
    b[i] = (float)((i * 104729) % 103 - 51) / 16;
    c[i] = before[i] = (float)(i % 37) / 4, elsewhere[i] = (float)(i % 41 - 20) / 4;
  }
  for (int i = 0; i < 200; ++i) bias[i] = (float)(i * 31 % 41 - 20);
  memset(&how, 0, sizeof how);
  set(&how, COMPUTE, 4, 68), set(&how, SCALE, 4, 0), set(&how, POINTERS, 4, 0),
      set(&how, OP_A, 4, (uint64_t)ta), set(&how, OP_B, 4, (uint64_t)tb);
  set(&how, OP_C, 4, 0), set(&how, FILL, 4, 2), set(&how, EPILOGUE, 4, 1), set(&how, BIAS, 8, 0),
      set(&how, BIAS_STRIDE, 8, 0);
  for (int i = 17; i <= LARGEST; ++i) set(&how, i, 8, 0);
  set_signed(&how, BIAS_TYPE, -1);
  of_a = laid_out(ta ? k : m, ta ? m : k, by_rows & 1, count, count > 1 ? 300 : 0);
  of_b = laid_out(tb ? n : k, tb ? k : n, by_rows >> 1 & 1, count, count > 1 ? 301 : 0);
  of_c = of_d = laid_out(m, n, by_rows >> 2 & 1, count, count > 1 ? 310 : 0);
}

static long long place(const fake_attributes* x, long long i, long long j, long long l, int transposed) {
  const long long ld = (long long)x->value[LD], row = transposed ? j : i, column = transposed ? i : j;
  return l * (long long)x->value[STRIDE] + (x->value[ORDER] ? row * ld + column : row + column * ld);
}
static int is_product(void) {
  unsigned char* const ours = calloc(ROOM, 1);
  const int m = (int)of_d.value[ROWS], n = (int)of_d.value[COLUMNS], ta = how.value[OP_A] != 0,
            tb = how.value[OP_B] != 0;
  const int k = (int)of_a.value[ta ? ROWS : COLUMNS], epilogue = (int)how.value[EPILOGUE];
  int right = 1;
  for (int l = 0; l < (int)of_d.value[COUNT]; ++l)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int p = 0; p < k; ++p)
          sum += (double)a[place(&of_a, i, p, l, ta)] * b[place(&of_b, p, j, l, tb)];
        const long long at = place(&of_d, i, j, l, 0);
        const float* const added = add == c ? before : add;
        double v = (double)alpha * sum;
        if (beta != 0) v += (double)beta * added[place(&of_c, i, j, l, 0)];
        if (epilogue & 4) v += bias[i + l * (int)how.value[BIAS_STRIDE]];
        if ((epilogue & 2) && v < 0) v = 0;
        if (epilogue & 32) v *= 0.5 * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
        right &= fabs(c[at] - v) <= 1e-3;
        ours[at] = 1;
      }
  for (int i = 0; i < ROOM; ++i) right &= ours[i] || c[i] == before[i];
  free(ours);
  return right;
}

static void expect(const char* what, int taken) {
  static char algorithm[64], workspace[8];
  fake_lt_handle on = {0, {0}};
  const void* const all[] = {&on, &how,  &alpha, a,     &of_a,     b,         &of_b,    &beta,
                             add, &of_c, c,      &of_d, algorithm, workspace, (void*)8, (void*)4711};
  const int status = cublasLtMatmul(&on, &how, &alpha, a, &of_a, b, &of_b, &beta, add, &of_c, c, &of_d,
                                    algorithm, workspace, 8, (void*)4711);
  const int was_taken = on.calls == 0;
  const int right =
      was_taken ? is_product()
                : memcmp(on.seen, all, sizeof all) == 0 && memcmp(c, before, sizeof c) == 0 && on.calls == 1;
  if (status != 0 || was_taken != taken || !right)
    ++faults, printf("%s: status %d, %s, %s\n", what, status, was_taken ? "taken" : "passed on",
                     right ? "right" : "wrong");
  ++*(was_taken ? &seen_taken : &seen_passed);
}

int client_main(int taken) {
#define CASE(what, is_taken, change) usual(0, 0, 0, 1), change, expect(what, taken && (is_taken))
  for (int ta = 0; ta <= 2; ++ta)
    for (int tb = 0; tb <= 2; ++tb)
      for (int by_rows = 0; by_rows < 8; ++by_rows)
        usual(ta, tb, by_rows, 1 + (by_rows + ta) % 3), expect("usual", taken);
  usual(0, 0, 0, 1);
  if (cublasLtMatmul(NULL, &how, &alpha, a, &of_a, b, &of_b, &beta, c, &of_c, c, &of_d, NULL, NULL, 0,
                     NULL) != 1 ||
      memcmp(c, before, sizeof c) != 0)
    ++faults, printf("no handle\n");
  CASE("relu", 1, set(&how, EPILOGUE, 4, 2));
  CASE("bias", 1, (set(&how, EPILOGUE, 4, 4), set(&how, BIAS, 8, (uint64_t)(uintptr_t)bias)));
  CASE("relu and bias", 1, (set(&how, EPILOGUE, 4, 6), set(&how, BIAS, 8, (uint64_t)(uintptr_t)bias)));
  CASE("bias of FP32", 1,
       (set(&how, EPILOGUE, 4, 4), set(&how, BIAS, 8, (uint64_t)(uintptr_t)bias),
        set_signed(&how, BIAS_TYPE, 0)));
  CASE("bias of halves", 0,
       (set(&how, EPILOGUE, 4, 4), set(&how, BIAS, 8, (uint64_t)(uintptr_t)bias),
        set_signed(&how, BIAS_TYPE, 2)));
  CASE("bias of an older version", 1,
       (set(&how, EPILOGUE, 4, 4), set(&how, BIAS, 8, (uint64_t)(uintptr_t)bias), how.bytes[BIAS_TYPE] = 0));
  CASE("biases of a batch", 1,
       (usual(0, 1, 4, 3), set(&how, EPILOGUE, 4, 4), set(&how, BIAS, 8, (uint64_t)(uintptr_t)bias),
        set(&how, BIAS_STRIDE, 8, 40)));
  CASE("bias nowhere", 0, set(&how, EPILOGUE, 4, 4));
  CASE("relu with a mask", 0, set(&how, EPILOGUE, 4, 130));
  CASE("gelu", 1, (set(&how, EPILOGUE, 4, 32), alpha = 0.0625f));
  CASE("gelu of a batch by rows", 1, (usual(1, 0, 7, 2), set(&how, EPILOGUE, 4, 32), alpha = 0.0625f));
  CASE("gelu with its input stored", 0, set(&how, EPILOGUE, 4, 160));
  CASE("gelu and relu", 0, set(&how, EPILOGUE, 4, 34));
  CASE("gradient of gelu", 0, set(&how, EPILOGUE, 4, 192));
  CASE("gelu and bias, nowhere", 0, set(&how, EPILOGUE, 4, 36));
  CASE("gelu and bias", 1,
       (alpha = 0.0625f, set(&how, EPILOGUE, 4, 36), set(&how, BIAS, 8, (uint64_t)(uintptr_t)bias)));
  CASE("gradient of the bias", 0, set(&how, EPILOGUE, 4, 256));
  CASE("emulated by bf16", 1, set(&how, COMPUTE, 4, 78));
  CASE("tf32", getenv("ANTIPHASE_TF32") != NULL, set(&how, COMPUTE, 4, 77));
  CASE("pedantic", 0, set(&how, COMPUTE, 4, 69));
  CASE("factors of another type", 0, set(&how, SCALE, 4, 1));
  CASE("factors on the device", 0, set(&how, POINTERS, 4, 1));
  CASE("one alpha for each row", 0, set(&how, POINTERS, 4, 4));
  CASE("C transposed", 0, set(&how, OP_C, 4, 1));
  CASE("a triangle", 0, set(&how, FILL, 4, 0));
  CASE("a factor of B", 0, set(&how, SCALE_OF_B, 8, 4711));
  CASE("the largest result", 0, set(&how, LARGEST, 8, 4711));
  CASE("factors that are not known", 1, how.bytes[SCALE_OF_B] = 0);
  CASE("A of halves", 0, set(&of_a, TYPE, 4, 2));
  CASE("B of halves", 0, set(&of_b, TYPE, 4, 2));
  CASE("D of halves", 0, set(&of_d, TYPE, 4, 2));
  CASE("tiles of A", 0, set(&of_a, ORDER, 4, 2));
  CASE("planes of B", 0, set(&of_b, PLANE, 8, 64));
  CASE("pointers to members", 0, set(&of_a, BATCH_MODE, 4, 1));
  CASE("batch mode", 1, set(&of_a, BATCH_MODE, 4, 0));
  CASE("lda", 0, set(&of_a, LD, 8, 12));
  CASE("other extents of A", 0, set(&of_a, ROWS, 8, 12));
  CASE("other extents of B", 0, set(&of_b, ROWS, 8, 10));
  CASE("other members of B", 0, set(&of_b, COUNT, 4, 2));
  CASE("no members", 0, (set(&of_a, COUNT, 4, 0), set(&of_b, COUNT, 4, 0), set(&of_d, COUNT, 4, 0)));
  CASE("no rows", 0, (set(&of_a, ROWS, 8, 0), set(&of_d, ROWS, 8, 0)));
  CASE("C elsewhere", 1, add = elsewhere);
  CASE("C elsewhere, otherwise", 1, (add = elsewhere, set(&of_c, LD, 8, 17)));
  CASE("C elsewhere, by rows", 1, (add = elsewhere, of_c = laid_out(13, 9, 1, 1, 0)));
  CASE("C elsewhere, of a batch, with bias", 1,
       (usual(0, 1, 4, 3), add = elsewhere, set(&of_c, STRIDE, 8, 277), set(&how, EPILOGUE, 4, 4),
        set(&how, BIAS, 8, (uint64_t)(uintptr_t)bias)));
  CASE("C elsewhere, one for all members", 1, (usual(0, 0, 0, 3), add = elsewhere, set(&of_c, STRIDE, 8, 0)));
  CASE("C elsewhere, of other extents", 0, (add = elsewhere, set(&of_c, ROWS, 8, 12)));
  CASE("C elsewhere, of other members", 0, (add = elsewhere, set(&of_c, COUNT, 4, 2)));
  CASE("C elsewhere, of halves", 0, (add = elsewhere, set(&of_c, TYPE, 4, 2)));
  CASE("C overlaps D", 0, add = c + 1);
  CASE("C nowhere", 0, add = NULL);
  CASE("C elsewhere, not added", 1, (add = elsewhere, beta = 0));
  CASE("no C, not added", 1, (add = NULL, beta = 0));
  CASE("C lies otherwise", 0, set(&of_c, LD, 8, 17));
  CASE("C lies otherwise, not added", 1, (set(&of_c, LD, 8, 17), beta = 0));
  printf("%d taken, %d passed on, %d faults\n", seen_taken, seen_passed, faults);
  return faults != 0;
}
