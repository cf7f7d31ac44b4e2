// SPDX-License-Identifier: Apache-2.0
// Calls functions of triangles of the fake cuBLAS, which computes them in FP32, or of the interposer:
//
//   residuals ORDER WIDTH [NAME]  all functions or one: all sides, triangles, operations and diagonals, on
//                                 three kinds of matrices; prints a line for each call: its error, and how
//                                 often the fake ran
//   rules                         calls that are passed on unchanged
//   nowhere NAME SIDE M N K       for profiles: addresses are invalid and never dereferenced
//
// What a call must not read is NaN, and what it must not write is compared.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cublas.h"

enum family { solve, multiply, symmetric, rank_k, rank_kx, rank_2k };
static const struct {
  const char* name;
  enum family is;
} entries[] = {
#define ROW(entry, SIGNATURE, INT, family) {#entry, family},
    AP_CUBLAS_ENTRIES(FAKE_NONE, ROW, FAKE_NONE)};
enum { ENTRIES = sizeof entries / sizeof *entries };

static int call(fake_handle* on, const fake_call* x) {
#define FIELD(type, field) , (type)x->field
#define CALL(entry, SIGNATURE, INT, family) \
  if (strcmp(x->name, #entry) == 0) return entry(on SIGNATURE(FIELD, INT));
  AP_CUBLAS_ENTRIES(FAKE_NONE, CALL, FAKE_NONE)
  return -1;
}

enum { ROOM = 220 * 220 };
static float a[ROOM], b[ROOM], c[ROOM], b_before[ROOM], c_before[ROOM], alpha, beta;
static int faults;

static double drawn(void) {
  static unsigned long long state = 4711;
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(state >> 40) / (1 << 23) - 1;
}

enum kind { random_ones, graded, ill_conditioned, KINDS };
static const char* const kinds[] = {"random", "graded", "ill-conditioned"};
// Element (i, j) of a triangle, i >= j, or of a general matrix.
static double element(enum kind of, int order, int i, int j) {
  const double sine = 0.93, cosine = 0.37;  // as in Kahan's triangles
  switch (of) {
    case graded: return (i == j ? 2 + drawn() / 2 : drawn()) * exp2((order - 2. * i) / 8 + (i - j) % 7);
    case ill_conditioned: return (i == j ? 1 : -cosine + drawn() / 64) * pow(sine, j);
    default: return i == j ? 2 + drawn() / 2 : drawn() / 8;
  }
}

static int is_rank(enum family f) { return f >= rank_k; }
static int has_beta(enum family f) { return f >= symmetric; }
static int has_diagonal(enum family f) { return f <= multiply; }
static int is_stored(const fake_call* x, int i, int j) { return x->fill ? i <= j : i >= j; }

static fake_call drawn_call(int entry, enum kind of, int order, int width, int side, int fill, int op,
                            int ones) {
  const enum family f = entries[entry].is;
  fake_call x = {.name = entries[entry].name, .side = side, .fill = fill, .op_a = op, .diagonal = ones};
  x.alpha = &alpha, x.beta = &beta, x.a = a, x.b = f == solve || f == rank_k ? NULL : b, x.c = c;
  alpha = -1.25f, beta = has_beta(f) ? 0.5f : 0;
  for (int i = 0; i < ROOM; ++i) a[i] = b[i] = NAN, c[i] = (float)i;
  if (is_rank(f)) {
    x.n = order, x.k = width;
    const int rows = op ? width : order, columns = op ? order : width;
    x.lda = rows + 3, x.ldb = rows + 1, x.ldc = order + 2;
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i)
        a[i + j * x.lda] = (float)element(of, order, i, j), b[i + j * x.ldb] = (float)drawn();
  } else {
    x.m = side ? width : order, x.n = side ? order : width;
    x.lda = order + 3, x.ldb = x.m + 1, x.ldc = x.m + 2;
    for (int j = 0; j < order; ++j)
      for (int i = j + (ones && has_diagonal(f)); i < order; ++i)
        a[fill ? j + i * x.lda : i + j * x.lda] = (float)element(of, order, i, j);
    for (int j = 0; j < x.n; ++j)
      for (int i = 0; i < x.m; ++i) b[i + j * x.ldb] = (float)drawn(), c[i + j * x.ldc] = (float)drawn();
  }
  memcpy(b_before, b, sizeof b), memcpy(c_before, c, sizeof c);
  return x;
}

// Element (i, j) of op(A) or of symmetric A.
static double in_triangle(const fake_call* x, enum family f, int i, int j) {
  const int turned = x->op_a != 0, row = turned ? j : i, column = turned ? i : j;
  if (f == symmetric) return is_stored(x, i, j) ? a[i + j * x->lda] : a[j + i * x->lda];
  if (!is_stored(x, row, column)) return 0;
  return row == column && x->diagonal ? 1 : a[row + column * x->lda];
}
static double in_rank(const fake_call* x, const float* of, long long ld, int i, int p) {
  return x->op_a ? of[p + i * ld] : of[i + p * ld];
}
// The error of element (i, j) of the result: of a solve that of the equation, relative to the sum of the
// terms' magnitudes, in units of rounding.
static double error_of(const fake_call* x, enum family f, int i, int j) {
  const double found = c[i + j * x->ldc], before = c_before[i + j * x->ldc];
  double sum = 0, all = 0;
  const int terms = (int)(is_rank(f) ? x->k : x->side ? x->n : x->m);
  for (int p = 0; p < terms; ++p) {
    double term;
    if (is_rank(f)) {
      const float* const second = f == rank_k ? a : b_before;
      const long long ld = f == rank_k ? x->lda : x->ldb;
      term = in_rank(x, a, x->lda, i, p) * in_rank(x, second, ld, j, p);
      all += fabs(term);
      if (f == rank_2k) {
        const double other = in_rank(x, second, ld, i, p) * in_rank(x, a, x->lda, j, p);
        term += other, all += fabs(other);
      }
    } else {
      const double t = x->side ? in_triangle(x, f, p, j) : in_triangle(x, f, i, p);
      if (t == 0) continue;
      const float* const other = f == solve ? c : x->b == c ? c_before : b_before;
      const long long ld = f == solve || x->b == c ? x->ldc : x->ldb;
      term = t * other[x->side ? i + p * ld : p + j * ld];
      all += fabs(term);
    }
    sum += term;
  }
  const double added = f == solve ? -(double)alpha * before : beta == 0 ? 0 : (double)beta * before;
  const double off = f == solve ? sum + added : alpha * sum + added - found;
  const double size = (f == solve ? all : fabs(alpha) * all) + fabs(added);
  return off == 0 ? 0 : fabs(off) / size / (FLT_EPSILON / 2);
}
static double error(const fake_call* x, enum family f) {
  double worst = 0;
  static unsigned char ours[ROOM];
  memset(ours, 0, sizeof ours);
  const int rows = (int)(is_rank(f) ? x->n : x->m);
  for (int j = 0; j < x->n; ++j)
    for (int i = 0; i < rows; ++i) {
      if (is_rank(f) && !is_stored(x, i, j)) continue;
      ours[i + j * x->ldc] = 1;
      const double one = error_of(x, f, i, j);
      if (!(one <= worst)) worst = one;
    }
  for (int i = 0; i < ROOM; ++i)
    if (!ours[i] && memcmp(&c[i], &c_before[i], sizeof *c) != 0) return printf("%d is written\n", i), NAN;
  return memcmp(b, b_before, sizeof b) == 0 ? worst : NAN;
}

static void residual(const char* what, const fake_call* x, enum family f, enum kind of) {
  fake_handle on = {.computes = 1};
  faults += call(&on, x) != 0;
  printf("%s %s side %d fill %d op %d ones %d%s: %.3g %d\n", x->name, kinds[of], x->side, x->fill, x->op_a,
         x->diagonal, what, error(x, f), on.calls);
}
static void residuals(int order, int width, const char* only) {
  for (int e = 0; e < ENTRIES; ++e) {
    if (only != NULL && strcmp(entries[e].name, only) != 0) continue;
    const enum family f = entries[e].is;
    const int is_64 = strstr(entries[e].name, "_64") != NULL;
    for (enum kind of = 0; of < (is_64 ? 1 : KINDS); ++of)
      for (int options = 0; options < 24; ++options) {
        const int side = options % 2, fill = options / 2 % 2, op = options / 4 % 3, ones = options / 12;
        if ((side && is_rank(f)) || (op && f == symmetric) || (ones && !has_diagonal(f))) continue;
        if (is_64 && (fill || op == 1)) continue;
        if (of == graded && ones) continue;  // overflows
        fake_call x = drawn_call(e, of, order, width, side, fill, op, ones);
        if (f == multiply && ones) x.b = c, x.ldb = x.ldc;  // in place
        residual("", &x, f, of);
        if (of != random_ones || !has_beta(f) || is_64) continue;
        x = drawn_call(e, of, order, width, side, fill, op, ones), beta = 0;
        for (int i = 0; i < ROOM; ++i)
          if (!is_rank(f) || is_stored(&x, (int)(i % x.ldc), (int)(i / x.ldc))) c[i] = c_before[i] = NAN;
        residual(" beta 0", &x, f, of);
      }
  }
}

static void passes(const char* what, fake_handle* on, const fake_call* x) {
  char expected[2048];
  fake_written(expected, sizeof expected, x);
  on->calls = 0, on->log[0] = '\0';
  const int returned = call(on, x);
  if (returned == 0 && on->calls == 1 && strcmp(on->log, expected) == 0 && memcmp(c, c_before, sizeof c) == 0)
    return;
  ++faults;
  printf("%s, %s: status %d, %d calls\n  called   %s\n  expected %s\n", x->name, what, returned, on->calls,
         on->log, expected);
}
static void rules(void) {
  for (int e = 0; e < ENTRIES; ++e) {
    const enum family f = entries[e].is;
    fake_handle on = {0};
    fake_call x;
    // Parameters that a function does not have remain zero in what the fake logs.
#define CASE(what, change)                               \
  do {                                                   \
    x = drawn_call(e, random_ones, 100, 40, 0, 0, 0, 0); \
    if (f == solve || f == rank_k) x.ldb = 0;            \
    if (!has_beta(f)) x.beta = NULL;                     \
    change;                                              \
    passes(what, &on, &x);                               \
  } while (0)
    CASE("factors on the device", on.pointer_mode = 1);
    on.pointer_mode = 0;
    CASE("tf32", on.math_mode = 3);
    CASE("pedantic", on.math_mode = 2);
    on.math_mode = 0;
    CASE("a getter fails", on.getters_fail = 1);
    on.getters_fail = 0;
    CASE("alpha 0", alpha = 0);
    CASE("no alpha", x.alpha = NULL);
    CASE("no columns", x.n = 0);
    CASE("negative", x.n = -1);
    CASE("lda", x.lda = 99);
    CASE("ldc", x.ldc = 99);
    CASE("a triangle that is none", x.fill = 2);
    CASE("A is nowhere", x.a = NULL);
    if (is_rank(f)) CASE("no terms", x.k = 0);
    if (!is_rank(f)) CASE("no rows", x.m = 0);
    if (!is_rank(f)) CASE("a side that is none", x.side = 2);
    if (f != symmetric) CASE("an operation that is none", x.op_a = 3);
    if (has_diagonal(f)) CASE("a diagonal that is none", x.diagonal = 2);
    if (has_beta(f)) CASE("no beta", x.beta = NULL);
    if (f != solve && f != rank_k) CASE("ldb", x.ldb = 99);
    if (strstr(x.name, "_64") != NULL) CASE("ldc of 2^32", x.ldc = 1ll << 32);
    CASE("smaller than a block", is_rank(f) ? (x.n = 32) : (x.m = 32));
    x = drawn_call(e, random_ones, 100, 40, 0, 0, 0, 0);
    if (call(NULL, &x) != 1) ++faults, printf("%s: no handle\n", x.name);
    // An error of cuBLAS in the first block is its error; a later one leaves C undefined.
    x = drawn_call(e, random_ones, 100, 40, 0, 0, 0, 0);
    fake_handle failing = {.fails_at = 3, .computes = 1};
    const int status = call(&failing, &x);
    if (status == 0 || failing.calls != 3)
      ++faults, printf("%s fails: %d, %d\n", x.name, status, failing.calls);
  }
}

static void nowhere(const char* name, int side, int m, int n, int k) {
  fake_handle on = {.quiet = 1};
  fake_call x = {.name = name, .side = side, .m = m, .n = n, .k = k, .alpha = &alpha, .beta = &beta};
  alpha = beta = 1;
  x.a = (void*)(1ll << 40), x.b = (void*)(2ll << 40), x.c = (void*)(3ll << 40);
  x.lda = x.ldb = x.ldc = m > n ? m : n;
  faults += call(&on, &x) != 0;
}

int main(int count, char** words) {
  if ((count == 4 || count == 5) && strcmp(words[1], "residuals") == 0)
    residuals(atoi(words[2]), atoi(words[3]), words[4]);
  else if (count == 2 && strcmp(words[1], "rules") == 0)
    rules();
  else if (count > 1 && strcmp(words[1], "nowhere") == 0)
    for (int i = 2; i + 4 < count; i += 5)
      nowhere(words[i], atoi(words[i + 1]), atoi(words[i + 2]), atoi(words[i + 3]), atoi(words[i + 4]));
  else
    return 2;
  return faults != 0;
}
