// SPDX-License-Identifier: Apache-2.0
// A client of cuBLAS, compiled against it like any other: every argument rule of the interposer, through all
// functions. It is linked with the (fake) library, or, with BY_NAME, asks for functions by name.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cublas.h"

static struct {
#define MEMBER(entry, SIGNATURE, INT) int (*entry)(fake_handle * SIGNATURE(FAKE_PARAMETER, INT));
  AP_CUBLAS_ENTRIES(MEMBER, FAKE_NONE, FAKE_NONE)
} f;

// The entries, with a bit for each of their parameters.
#define BIT(field) (1ull << offsetof(fake_call, field) / sizeof(int))
#define HAS(type, field) | BIT(field)
#define ENTRY(entry, SIGNATURE, INT) {#entry, 0 SIGNATURE(HAS, INT)},
typedef struct entry {
  const char* name;
  unsigned long long has;
} entry;
static const entry entries[] = {AP_CUBLAS_ENTRIES(ENTRY, FAKE_NONE, FAKE_NONE)};
static int has_types(const entry* e) { return (e->has & BIT(type_a)) != 0; }
static int has_compute(const entry* e) { return (e->has & BIT(compute)) != 0; }
static int has_count(const entry* e) { return (e->has & BIT(count)) != 0; }
static int is_strided(const entry* e) { return (e->has & BIT(step_a)) != 0; }
static int is_by_pointers(const entry* e) { return has_count(e) && !is_strided(e); }

#ifdef BY_NAME
__attribute__((constructor))  // like plugins: all are loaded before one is called
#endif
static void
find_functions(void) {
#ifdef BY_NAME
  void* const library = dlopen(BY_NAME, RTLD_NOW | RTLD_LOCAL);
#define FIND(entry, SIGNATURE, INT) *(void**)&f.entry = library == NULL ? NULL : dlsym(library, #entry);
#else
#define FIND(entry, SIGNATURE, INT) f.entry = entry;
#endif
  AP_CUBLAS_ENTRIES(FIND, FAKE_NONE, FAKE_NONE)
}

static int call(fake_handle* on, const fake_call* x) {
#define FIELD(type, field) , (type)x->field
#define CALL(entry, SIGNATURE, INT) \
  if (strcmp(x->name, #entry) == 0) return f.entry(on SIGNATURE(FIELD, INT));
  AP_CUBLAS_ENTRIES(CALL, FAKE_NONE, FAKE_NONE)
  return -1;
}

// ---- A case
// -----------------------------------------------------------------------------------------------------------

enum { ROOM = 6000 };
static float a[ROOM], b[ROOM], c[ROOM], before[ROOM], alpha, beta;
enum { MEMBERS = 3 };
static const float *a_members[MEMBERS], *b_members[MEMBERS];
static float* c_members[MEMBERS];
static int faults, seen_taken, seen_passed;

static fake_call usual(const entry* e, int op_a, int op_b) {
  const int m = 13, n = 9, k = 11;
  alpha = -1.25f, beta = 0.5f;
  for (int i = 0; i < ROOM; ++i) {
    a[i] = (float)((i * 7919) % 101 - 50) / 16;
    b[i] = (float)((i * 104729) % 103 - 51) / 16;
    c[i] = before[i] = (float)(i % 37) / 4;
  }
  fake_call x = {.name = e->name,
                 .op_a = op_a,
                 .op_b = op_b,
                 .m = m,
                 .n = n,
                 .k = k,
                 .alpha = &alpha,
                 .a = a,
                 .b = b,
                 .beta = &beta,
                 .c = c,
                 .lda = (op_a ? k : m) + 2,
                 .ldb = (op_b ? n : k) + 3,
                 .ldc = m + 1};
  if (is_strided(e)) x.count = 3, x.step_a = 0, x.step_b = 401, x.step_c = (m + 1) * n + 5;
  if (has_compute(e)) x.compute = 68, x.algorithm = -1;
  if (is_by_pointers(e)) {  // in another order than in memory
    for (int l = 0; l < MEMBERS; ++l)
      a_members[l] = a + 300 * (2 - l), b_members[l] = b + 401 * l, c_members[l] = c + 1201 * ((l + 1) % 3);
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
          sum += (double)of_a[x->op_a ? p + i * x->lda : i + p * x->lda] *
                 of_b[x->op_b ? j + p * x->ldb : p + j * x->ldb];
        const long long at = (by_pointers ? c_members[l] - c : l * x->step_c) + i + j * x->ldc;
        const double off = fabs(c[at] - ((double)alpha * sum + (double)beta * before[at]));
        right &= off <= 1e-3;
        ours[at] = 1;
      }
  for (int i = 0; i < ROOM; ++i) right &= ours[i] || c[i] == before[i];
  free(ours);
  return right;
}

// Checks that the call is taken as expected, with a right result, or passed on unchanged.
static void expect(const char* what, int taken, fake_handle* on, const entry* e, const fake_call* x) {
  char expected[2048];
  fake_written(expected, sizeof expected, x);
  on->calls = 0, on->log[0] = '\0';
  const int status = call(on, x);
  const int was_taken = on->calls == 0;
  const int right = was_taken ? is_product(x, is_by_pointers(e))
                              : strcmp(on->log, expected) == 0 && memcmp(c, before, sizeof c) == 0 &&
                                    on->library == LIBRARY_EXPECTED && on->calls == 1;
  if (status != 0 || was_taken != taken || !right) {
    ++faults;
    printf("%s: %s %d %d: status %d, %s, %s\n  called   %s\n  expected %s\n", x->name, what, x->op_a, x->op_b,
           status, was_taken ? "taken" : "passed on", right ? "right" : "wrong", on->log, expected);
  }
  ++*(was_taken ? &seen_taken : &seen_passed);
}

// `taken`: 0 if all calls are expected to be passed on, for example because products are too small; 2 if
// those with arrays of pointers are.
int client_main(int taken) {
#ifndef BY_NAME
  find_functions();
#endif
  const int count = sizeof entries / sizeof *entries;
#define IS_THERE(entry, SIGNATURE, INT) &&f.entry != NULL
  if (!(count > 0 AP_CUBLAS_ENTRIES(IS_THERE, FAKE_NONE, FAKE_NONE)))
    return printf("the functions are missing\n"), 1;
  const int takes_tf32 = getenv("ANTIPHASE_TF32") != NULL;
  for (const entry* e = entries; e < entries + count; ++e) {
    fake_handle on = {0};
    const int all_taken = is_by_pointers(e) ? taken == 1 : taken != 0;
    fake_call x;
#define CASE(what, op_a, op_b, is_taken, change) \
  x = usual(e, op_a, op_b), change, expect(what, all_taken && (is_taken), &on, e, &x)
    for (int ta = 0; ta <= 2; ++ta)  // 2: the conjugate
      for (int tb = 0; tb <= 2; ++tb) CASE("usual", ta, tb, 1, (void)0);
    CASE("beta 0", 0, 1, 1, beta = 0);
    CASE("no sums in 16 bits", 0, 0, 1, on.math_mode = 16);
    CASE("tf32", 0, 0, takes_tf32, on.math_mode = 3);
    CASE("pedantic", 0, 0, 0, on.math_mode = 2);
    CASE("emulated by bf16", 0, 0, 1, on.math_mode = 4);
    CASE("emulated by bf16, FP64 too", 1, 0, 1, on.math_mode = 4 + 8 + 16);
    CASE("FP64 emulated", 0, 1, 1, on.math_mode = 8);
    CASE("tf32 and FP64 emulated", 0, 0, takes_tf32, on.math_mode = 3 + 8);
    CASE("a mode that is none", 0, 0, 0, on.math_mode = 3 + 4);
    on.math_mode = 0;
    CASE("factors on the device", 1, 0, 0, on.pointer_mode = 1);
    on.pointer_mode = 0;
    for (int getter = 1; getter <= 4; getter *= 2) CASE("a getter fails", 1, 0, 0, on.getters_fail = getter);
    on.getters_fail = 0;
    x = usual(e, 0, 0), ++seen_passed;
    if (call(NULL, &x) != 1 || memcmp(c, before, sizeof c) != 0) ++faults, printf("%s: no handle\n", e->name);
    if (has_types(e)) {
      CASE("A of halves", 0, 0, 0, x.type_a = 2);
      CASE("B of halves", 0, 0, 0, x.type_b = 2);
      CASE("C of halves", 0, 0, 0, x.type_c = 2);
    }
    if (has_compute(e)) {
      CASE("compute pedantic", 0, 0, 0, x.compute = 69);
      CASE("compute emulated by bf16", 0, 1, 1, x.compute = 78);
      CASE("compute FP64 emulated", 0, 0, 0, x.compute = 79);
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
    if (!is_by_pointers(e)) CASE("C is A", 0, 0, 0, x.c = a);
    CASE("A is nowhere", 0, 0, 0, x.a = NULL);
    if (has_count(e)) CASE("no members", 0, 0, 0, x.count = 0);
    if (is_strided(e)) {
      CASE("members of C overlap", 0, 0, 0, x.step_c = 3);
      CASE("members in a row", 1, 1, 1, (x.step_a = 200, x.step_b = 0));
    }
  }
  // If the original calls another product by name, that call is not the interposer's.
  fake_handle on = {0};
  on.calls_itself = 1;
  fake_call x = usual(&entries[0], 0, 0);
  x.k = 0;  // this call is passed on; the nested one would be taken
  if (call(&on, &x) != 0 || on.calls != 2) ++faults, printf("an original's own call: %d calls\n", on.calls);
  printf("%d taken, %d passed on, %d faults\n", seen_taken, seen_passed, faults);
  return faults != 0;
}
