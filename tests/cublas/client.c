// SPDX-License-Identifier: Apache-2.0
// A client of cuBLAS that is compiled against it as any other: every argument rule of the interposer, by all functions. It is linked with
// the (fake) library, or, with BY_NAME, asks for functions by their names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cublas.h"

enum { SGEMM_V2, SGEMM_EX, GEMM_EX, STRIDED, STRIDED_EX, BATCHED, BATCHED_EX, KINDS };
static const char* const names[] = {
    "cublasSgemm_v2",     "cublasSgemmEx",      "cublasGemmEx", "cublasSgemmStridedBatched", "cublasGemmStridedBatchedEx",
    "cublasSgemmBatched", "cublasGemmBatchedEx"};

static struct {
  int(*sgemm) SGEMM(int);
  int(*sgemm_64) SGEMM(int64_t);
  int(*sgemm_ex) SGEMM_EX(int);
  int(*sgemm_ex_64) SGEMM_EX(int64_t);
  int(*gemm_ex) GEMM_EX(int);
  int(*gemm_ex_64) GEMM_EX(int64_t);
  int(*strided) SGEMM_STRIDED(int);
  int(*strided_64) SGEMM_STRIDED(int64_t);
  int(*strided_ex) GEMM_STRIDED_EX(int);
  int(*strided_ex_64) GEMM_STRIDED_EX(int64_t);
  int(*batched) SGEMM_BATCHED(int);
  int(*batched_64) SGEMM_BATCHED(int64_t);
  int(*batched_ex) GEMM_BATCHED_EX(int);
  int(*batched_ex_64) GEMM_BATCHED_EX(int64_t);
} f;

#ifdef BY_NAME
__attribute__((constructor))  // as plugins do: all are loaded before one is called
#endif
static void
find_functions(void) {
#ifdef BY_NAME
  void* const library = dlopen(BY_NAME, RTLD_NOW | RTLD_LOCAL);
#define FIND(member, name) *(void**)&f.member = library == NULL ? NULL : dlsym(library, #name)
#else
#define FIND(member, name) f.member = name
#endif
  FIND(sgemm, cublasSgemm_v2);
  FIND(sgemm_64, cublasSgemm_v2_64);
  FIND(sgemm_ex, cublasSgemmEx);
  FIND(sgemm_ex_64, cublasSgemmEx_64);
  FIND(gemm_ex, cublasGemmEx);
  FIND(gemm_ex_64, cublasGemmEx_64);
  FIND(strided, cublasSgemmStridedBatched);
  FIND(strided_64, cublasSgemmStridedBatched_64);
  FIND(strided_ex, cublasGemmStridedBatchedEx);
  FIND(strided_ex_64, cublasGemmStridedBatchedEx_64);
  FIND(batched, cublasSgemmBatched);
  FIND(batched_64, cublasSgemmBatched_64);
  FIND(batched_ex, cublasGemmBatchedEx);
  FIND(batched_ex_64, cublasGemmBatchedEx_64);
}

static int call(fake_handle* on, int kind, int wide, const fake_call* x) {
#define HEAD on, x->ta, x->tb, (INT)x->m, (INT)x->n, (INT)x->k, x->alpha
#define TAIL(ld) (INT)(ld)
#define CASES(SUFFIX)                                                                                                                 \
  switch (kind) {                                                                                                                     \
    case SGEMM_V2: return f.sgemm##SUFFIX(HEAD, x->a, (INT)x->lda, x->b, (INT)x->ldb, x->beta, (float*)x->c, (INT)x->ldc);            \
    case SGEMM_EX:                                                                                                                    \
      return f.sgemm_ex##SUFFIX(HEAD, x->a, x->type_a, (INT)x->lda, x->b, x->type_b, (INT)x->ldb, x->beta, (void*)x->c, x->type_c,    \
                                (INT)x->ldc);                                                                                         \
    case GEMM_EX:                                                                                                                     \
      return f.gemm_ex##SUFFIX(HEAD, x->a, x->type_a, (INT)x->lda, x->b, x->type_b, (INT)x->ldb, x->beta, (void*)x->c, x->type_c,     \
                               (INT)x->ldc, x->compute, x->algorithm);                                                                \
    case STRIDED:                                                                                                                     \
      return f.strided##SUFFIX(HEAD, x->a, (INT)x->lda, x->step_a, x->b, (INT)x->ldb, x->step_b, x->beta, (float*)x->c, (INT)x->ldc,  \
                               x->step_c, (INT)x->count);                                                                             \
    case STRIDED_EX:                                                                                                                  \
      return f.strided_ex##SUFFIX(HEAD, x->a, x->type_a, (INT)x->lda, x->step_a, x->b, x->type_b, (INT)x->ldb, x->step_b, x->beta,    \
                                  (void*)x->c, x->type_c, (INT)x->ldc, x->step_c, (INT)x->count, x->compute, x->algorithm);           \
    case BATCHED:                                                                                                                     \
      return f.batched##SUFFIX(HEAD, x->a, (INT)x->lda, x->b, (INT)x->ldb, x->beta, (float* const*)x->c, (INT)x->ldc, (INT)x->count); \
    default:                                                                                                                          \
      return f.batched_ex##SUFFIX(HEAD, x->a, x->type_a, (INT)x->lda, x->b, x->type_b, (INT)x->ldb, x->beta, (void* const*)x->c,      \
                                  x->type_c, (INT)x->ldc, (INT)x->count, x->compute, x->algorithm);                                   \
  }
  if (wide) {
#define INT int64_t
    CASES(_64)
#undef INT
  }
#define INT int
  CASES()
#undef INT
}

// ---- A case
// ------------------------------------------------------------------------------------------------------------------------------

enum { ROOM = 6000 };
static float a[ROOM], b[ROOM], c[ROOM], before[ROOM], alpha, beta;
enum { MEMBERS = 3 };
static const float *a_members[MEMBERS], *b_members[MEMBERS];
static float* c_members[MEMBERS];
static int faults, seen_taken, seen_passed;

static fake_call usual(int kind, int ta, int tb) {
  const int is_strided = kind == STRIDED || kind == STRIDED_EX, m = 13, n = 9, k = 11;
  alpha = -1.25f, beta = 0.5f;
  for (int i = 0; i < ROOM; ++i) {
    a[i] = (float)((i * 7919) % 101 - 50) / 16;
    b[i] = (float)((i * 104729) % 103 - 51) / 16;
    c[i] = before[i] = (float)(i % 37) / 4;
  }
  fake_call x = {names[kind],      ta,    tb, m, n, k, &alpha, a, b, &beta, c, (ta ? k : m) + 2,
                 (tb ? n : k) + 3, m + 1, 0,  0, 0, 0, 0,      0, 0, 0,     0};
  if (is_strided) x.count = 3, x.step_a = 0, x.step_b = 401, x.step_c = (m + 1) * n + 5;
  if (kind == GEMM_EX || kind == STRIDED_EX || kind == BATCHED_EX) x.compute = 68, x.algorithm = -1;
  if (kind >= BATCHED) {  // in another order than they lie
    for (int l = 0; l < MEMBERS; ++l) a_members[l] = a + 300 * (2 - l), b_members[l] = b + 401 * l, c_members[l] = c + 1201 * ((l + 1) % 3);
    x.a = a_members, x.b = b_members, x.c = c_members, x.count = MEMBERS;
  }
  return x;
}

static int is_product(const fake_call* x, int by_pointers) {
  unsigned char* const ours = calloc(ROOM, 1);
  int right = 1;
  for (long long l = 0; l < (x->count ? x->count : 1); ++l)
    for (long long i = 0; i < x->m; ++i)
      for (long long j = 0; j < x->n; ++j) {
        const float* const of_a = by_pointers ? a_members[l] : a + l * x->step_a;
        const float* const of_b = by_pointers ? b_members[l] : b + l * x->step_b;
        double sum = 0;
        for (long long p = 0; p < x->k; ++p)
          sum += (double)of_a[x->ta ? p + i * x->lda : i + p * x->lda] * of_b[x->tb ? j + p * x->ldb : p + j * x->ldb];
        const long long at = (by_pointers ? c_members[l] - c : l * x->step_c) + i + j * x->ldc;
        const double off = fabs(c[at] - ((double)alpha * sum + (double)beta * before[at]));
        right &= off <= 1e-3;
        ours[at] = 1;
      }
  for (int i = 0; i < ROOM; ++i) right &= ours[i] || c[i] == before[i];
  free(ours);
  return right;
}

// Whether the call is taken as expected, with a right result; or passed on as it was.
static void expect(const char* what, int taken, fake_handle* on, int kind, int wide, const fake_call* x) {
  char expected[2048], name[64];
  fake_call named = *x;
  snprintf(name, sizeof name, "%s%s", names[kind], wide ? "_64" : "");
  named.name = name;
  fake_written(expected, sizeof expected, &named);
  on->calls = 0, on->log[0] = '\0';
  const int status = call(on, kind, wide, x);
  const int was_taken = on->calls == 0;
  const int right =
      was_taken ? is_product(x, kind >= BATCHED)
                : strcmp(on->log, expected) == 0 && memcmp(c, before, sizeof c) == 0 && on->library == LIBRARY_EXPECTED && on->calls == 1;
  if (status != 0 || was_taken != taken || !right) {
    ++faults;
    printf("%s: %s %d %d: status %d, %s, %s\n  called   %s\n  expected %s\n", name, what, x->ta, x->tb, status,
           was_taken ? "taken" : "passed on", right ? "right" : "wrong", on->log, expected);
  }
  ++*(was_taken ? &seen_taken : &seen_passed);
}

// `taken`: 0 if all is expected to be passed on, as where products are too small; 2 if arrays of pointers are.
int client_main(int taken) {
#ifndef BY_NAME
  find_functions();
#endif
  if (f.sgemm == NULL || f.batched_ex_64 == NULL) return printf("the functions are missing\n"), 1;
  const int takes_tf32 = getenv("ANTIPHASE_TF32") != NULL;
  for (int kind = 0; kind < KINDS; ++kind)
    for (int wide = 0; wide < 2; ++wide) {
      fake_handle on = {0};
      const int has_compute = kind == GEMM_EX || kind == STRIDED_EX || kind == BATCHED_EX, has_types = kind == SGEMM_EX || has_compute;
      const int all_taken = kind < BATCHED ? taken != 0 : taken == 1;
      fake_call x;
#define CASE(what, ta, tb, is_taken, change) x = usual(kind, ta, tb), change, expect(what, all_taken && (is_taken), &on, kind, wide, &x)
      for (int ta = 0; ta <= 2; ++ta)  // 2: the conjugate
        for (int tb = 0; tb <= 2; ++tb) CASE("usual", ta, tb, 1, (void)0);
      CASE("beta 0", 0, 1, 1, beta = 0);
      CASE("no sums in 16 bits", 0, 0, 1, on.math_mode = 16);
      CASE("tf32", 0, 0, takes_tf32, on.math_mode = 3);
      CASE("pedantic", 0, 0, 0, on.math_mode = 2);
      on.math_mode = 0;
      CASE("factors on the device", 1, 0, 0, on.pointer_mode = 1);
      on.pointer_mode = 0;
      for (int getter = 1; getter <= 4; getter *= 2) CASE("a getter fails", 1, 0, 0, on.getters_fail = getter);
      on.getters_fail = 0;
      x = usual(kind, 0, 0), ++seen_passed;
      if (call(NULL, kind, wide, &x) != 1 || memcmp(c, before, sizeof c) != 0) ++faults, printf("%s: no handle\n", names[kind]);
      if (has_types) {
        CASE("A of halves", 0, 0, 0, x.type_a = 2);
        CASE("B of halves", 0, 0, 0, x.type_b = 2);
        CASE("C of halves", 0, 0, 0, x.type_c = 2);
      }
      if (has_compute) {
        CASE("compute pedantic", 0, 0, 0, x.compute = 69);
        CASE("compute tf32", 0, 0, takes_tf32, x.compute = 77);
      }
      CASE("no rows", 0, 0, 0, x.m = 0);
      CASE("no columns", 0, 0, 0, x.n = 0);
      CASE("no terms", 0, 0, 0, x.k = 0);
      CASE("negative", 0, 0, 0, x.m = -1);
      CASE("lda", 0, 0, 0, x.lda = x.m - 1);
      CASE("lda of the transposed", 1, 0, 0, x.lda = x.k - 1);
      CASE("the least lda of the transposed", 1, 0, 1, x.lda = x.k);
      CASE("the least ldb of the transposed", 0, 1, 1, x.ldb = x.n);
      CASE("ldb", 0, 0, 0, x.ldb = x.k - 1);
      CASE("ldb of the transposed", 0, 1, 0, x.ldb = x.n - 1);
      CASE("ldc", 0, 0, 0, x.ldc = x.m - 1);
      CASE("an operation that is none", 3, 0, 0, (void)0);
      CASE("no alpha", 0, 0, 0, x.alpha = NULL);
      CASE("no beta", 0, 0, 0, x.beta = NULL);
      if (kind < BATCHED) CASE("C is A", 0, 0, 0, x.c = a);
      CASE("A is nowhere", 0, 0, 0, x.a = NULL);
      if (kind >= STRIDED) CASE("no members", 0, 0, 0, x.count = 0);
      if (kind == STRIDED || kind == STRIDED_EX) {
        CASE("members of C overlap", 0, 0, 0, x.step_c = 3);
        CASE("members in a row", 1, 1, 1, (x.step_a = 200, x.step_b = 0));
      }
    }
  // The original calls another product by its name: that is its own.
  fake_handle on = {0};
  on.calls_itself = 1;
  fake_call x = usual(SGEMM_V2, 0, 0);
  x.k = 0;  // which is passed on, and the other would be taken
  if (call(&on, SGEMM_V2, 0, &x) != 0 || on.calls != 2) ++faults, printf("an original's own call: %d calls\n", on.calls);
  printf("%d taken, %d passed on, %d faults\n", seen_taken, seen_passed, faults);
  return faults != 0;
}
