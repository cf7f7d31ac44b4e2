// SPDX-License-Identifier: Apache-2.0
// The functions of antiphase.h as a C program calls them, on the CPU executor. Compiled by several compilers,
// without CUDA.
#define _POSIX_C_SOURCE 200809L
#include <antiphase.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int faults = 0;
static const char* subject = "";

#define EXPECT(what)                                                                           \
  do {                                                                                         \
    if (!(what)) {                                                                             \
      ++faults;                                                                                \
      printf("%s:%d: %s: expected %s; last message: %s\n", __FILE__, __LINE__, subject, #what, \
             antiphase_last_message());                                                        \
    }                                                                                          \
  } while (0)
#define REFUSED(call, status, words)                                                                       \
  do {                                                                                                     \
    const antiphase_status was_ = (call);                                                                  \
    if (was_ != (status) || strstr(antiphase_last_message(), (words)) == NULL) {                           \
      ++faults;                                                                                            \
      printf("%s:%d: %s: expected %s with '%s', got %s: %s\n", __FILE__, __LINE__, subject,                \
             antiphase_status_name(status), words, antiphase_status_name(was_), antiphase_last_message()); \
    }                                                                                                      \
  } while (0)

// ---- A matrix within a larger allocation, and the expected product ----------------------------------------

enum { ROOM = 20000 };
static const float untouched = -12345.5f;

typedef struct matrix {
  float* memory;  // of ROOM elements
  float* first;
  int64_t row_stride, column_stride, batch_stride;
} matrix;

static matrix matrix_of(int64_t row_stride, int64_t column_stride, int64_t batch_stride, int seed) {
  matrix x = {malloc(ROOM * sizeof(float)), NULL, row_stride, column_stride, batch_stride};
  // Strides may be negative, so the first element lies in the middle.
  x.first = x.memory + ROOM / 2;
  for (int i = 0; i < ROOM; ++i)
    x.memory[i] = seed == 0 ? untouched : (float)((i * 7919 + seed * 104729) % 1009 - 504) / 256.0f;
  return x;
}
static float* at(matrix x, int64_t i, int64_t j, int64_t l) {
  return x.first + i * x.row_stride + j * x.column_stride + l * x.batch_stride;
}

static double applied(int function, double v) {
  switch (function) {
    case ANTIPHASE_RELU: return v > 0 ? v : 0;
    case ANTIPHASE_GELU: return v * 0.5 * erfc(-v / sqrt(2.0));
    case ANTIPHASE_GELU_TANH: return v * 0.5 * (1 + tanh(sqrt(2 / acos(-1.0)) * (v + 0.044715 * v * v * v)));
    default: return v;
  }
}

typedef struct operands {
  matrix a, b, c, before;  // before: C's original contents
} operands;

static int64_t said(int64_t stride) { return stride == 0 ? ANTIPHASE_REPEATED : stride; }
static antiphase_sgemm_args args_of(operands* x, int64_t m, int64_t n, int64_t k) {
  antiphase_sgemm_args args = ANTIPHASE_SGEMM_ARGS_INIT;
  args.device = ANTIPHASE_CPU;
  args.m = m, args.n = n, args.k = k;
  args.a = x->a.first, args.a_row_stride = said(x->a.row_stride),
  args.a_column_stride = said(x->a.column_stride), args.a_batch_stride = x->a.batch_stride;
  args.b = x->b.first, args.b_row_stride = said(x->b.row_stride),
  args.b_column_stride = said(x->b.column_stride), args.b_batch_stride = x->b.batch_stride;
  args.c = x->c.first, args.c_row_stride = x->c.row_stride, args.c_column_stride = x->c.column_stride,
  args.c_batch_stride = x->c.batch_stride;
  return args;
}
static void fill_c(operands* x, const antiphase_sgemm_args* args) {
  free(x->before.memory);
  x->before = matrix_of(x->c.row_stride, x->c.column_stride, x->c.batch_stride, 0);
  for (int64_t l = 0; l < args->batch; ++l)
    for (int64_t i = 0; i < args->m; ++i)
      for (int64_t j = 0; j < args->n; ++j)
        *at(x->c, i, j, l) = args->beta == 0 ? NAN : (float)((i * 31 + j * 17 + l * 7) % 23 - 11) / 8.0f;
  memcpy(x->before.memory, x->c.memory, ROOM * sizeof(float));
}
static void let_go(operands* x) {
  free(x->a.memory), free(x->b.memory), free(x->c.memory), free(x->before.memory);
}

// Returns the number of wrong elements, in C or around it.
static int wrong_in(const operands* x, const antiphase_sgemm_args* args) {
  int wrong = 0;
  unsigned char* const ours = calloc(ROOM, 1);
  for (int64_t l = 0; l < args->batch; ++l)
    for (int64_t i = 0; i < args->m; ++i)
      for (int64_t j = 0; j < args->n; ++j) {
        double sum = 0, magnitudes = 0;
        for (int64_t p = 0; p < args->k; ++p) {
          const double term = (double)*at(x->a, i, p, l) * *at(x->b, p, j, l);
          sum += term, magnitudes += fabs(term);
        }
        double v = (double)args->alpha * sum;
        const float* const added = args->added != NULL
                                       ? args->added + i * args->added_row_stride +
                                             j * args->added_column_stride + l * args->added_batch_stride
                                       : at(x->before, i, j, l);
        if (args->beta != 0) v += (double)args->beta * *added;
        if (args->row_bias) v += args->row_bias[i + l * args->row_bias_batch_stride];
        if (args->column_bias) v += args->column_bias[j + l * args->column_bias_batch_stride];
        const double off = fabs(*at(x->c, i, j, l) - applied(args->function, v));
        if (!(off <= 2e-5 * magnitudes + 1e-5)) ++wrong;
        ours[at(x->c, i, j, l) - x->c.memory] = 1;
      }
  for (int i = 0; i < ROOM; ++i)
    if (!ours[i] && x->c.memory[i] != untouched) ++wrong;
  free(ours);
  return wrong;
}
static int c_is_unchanged(const operands* x) {
  return memcmp(x->before.memory, x->c.memory, ROOM * sizeof(float)) == 0;
}

// ---- Products
// -----------------------------------------------------------------------------------------------------------

static void products_of_any_strides(void) {
  subject = "strides";
  static const int64_t shapes[][3] = {{13, 21, 17}, {1, 37, 5}, {40, 1, 9}, {7, 9, 70}};
  for (int s = 0; s < 4; ++s)
    for (int layout = 0; layout < 6; ++layout) {
      const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
      operands x = {{0}, {0}, {0}, {0}};
      x.a = layout & 1 ? matrix_of(1, m + 3, 0, 1) : matrix_of(k + 2, 1, 0, 1);
      x.b = layout & 2 ? matrix_of(1, k + 1, 0, 2) : matrix_of(n + 5, 1, 0, 2);
      x.c = layout & 4 ? matrix_of(1, m + 4, 0, 0) : matrix_of(n + 1, 1, 0, 0);
      if (layout == 3)
        x.a.row_stride = -2, x.a.column_stride = 2 * m + 1, x.c.row_stride = -(2 * n + 3),
        x.c.column_stride = 2;
      // broadcast a column and a row
      if (layout == 5) x.a.column_stride = 0, x.b.row_stride = 0;
      antiphase_sgemm_args args = args_of(&x, m, n, k);
      args.alpha = layout % 2 ? 1.0f : -0.75f;
      args.beta = layout % 3 ? 0.0f : 0.5f;
      fill_c(&x, &args);
      EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
      EXPECT(wrong_in(&x, &args) == 0);
      let_go(&x);
    }
}

static void packed_rows_are_the_default(void) {
  subject = "packed rows";
  operands x = {matrix_of(6, 1, 0, 1), matrix_of(4, 1, 0, 2), matrix_of(4, 1, 0, 0), {0}};
  antiphase_sgemm_args args = args_of(&x, 5, 4, 6);
  args.a_row_stride = args.a_column_stride = args.b_row_stride = args.b_column_stride = args.c_row_stride =
      args.c_column_stride = 0;
  fill_c(&x, &args);
  EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  let_go(&x);
}

// The stride of an extent of 1 may stay 0.
static void strides_of_vectors(void) {
  subject = "vectors";
  operands x = {matrix_of(1, 3, 0, 1), matrix_of(2, 1, 0, 2), matrix_of(1, 5, 0, 0), {0}};
  antiphase_sgemm_args args = args_of(&x, 1, 1, 30);
  args.a_row_stride = args.b_column_stride = args.c_row_stride = 0;
  fill_c(&x, &args);
  EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  args.m = args.n = 2, args.k = 0;  // A and B have no elements
  args.a_row_stride = args.b_column_stride = 0, args.a_column_stride = args.b_row_stride = 1;
  args.c_row_stride = 1;
  fill_c(&x, &args);
  EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  let_go(&x);
}

// A broadcasts a single element.
static void repeated_along_both(void) {
  subject = "one element";
  operands x = {matrix_of(0, 0, 0, 1), matrix_of(7, 1, 0, 2), matrix_of(7, 1, 0, 0), {0}};
  antiphase_sgemm_args args = args_of(&x, 5, 7, 20);
  fill_c(&x, &args);
  EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  let_go(&x);
}

static void batches_with_biases_and_functions(void) {
  subject = "batches";
  float row_bias[100], column_bias[100];
  for (int i = 0; i < 100; ++i)
    row_bias[i] = (float)(i % 13 - 6) / 4.0f, column_bias[i] = (float)(i % 7 - 3) / 2.0f;
  for (int function = ANTIPHASE_IDENTITY; function <= ANTIPHASE_GELU_TANH; ++function) {
    const int64_t m = 11, n = 19, k = 23, count = 3;
    operands x = {
        matrix_of(k, 1, m * k + 5, 3), matrix_of(n, 1, 0, 4), matrix_of(n + 2, 1, m * (n + 2) + 1, 0), {0}};
    antiphase_sgemm_args args = args_of(&x, m, n, k);
    args.batch = count;
    args.function = function;
    args.alpha = 0.125f;
    args.beta = function == ANTIPHASE_RELU ? 2.0f : 0.0f;
    if (function != ANTIPHASE_GELU) args.row_bias = row_bias, args.row_bias_batch_stride = m + 1;
    if (function != ANTIPHASE_RELU) args.column_bias = column_bias;
    fill_c(&x, &args);
    EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
    EXPECT(wrong_in(&x, &args) == 0);
    let_go(&x);
  }
}

// The added matrix is separate, with other strides than C; or it is C itself; or it is not read.
static void another_matrix_is_added(void) {
  subject = "added";
  const int64_t m = 11, n = 19, k = 23, count = 2;
  matrix elsewhere = matrix_of(1, m + 2, m * n + 60, 7);
  for (int kind = 0; kind < 4; ++kind) {
    operands x = {
        matrix_of(k, 1, m * k, 3), matrix_of(n, 1, 0, 4), matrix_of(n + 2, 1, m * (n + 2) + 1, 0), {0}};
    antiphase_sgemm_args args = args_of(&x, m, n, k);
    args.batch = count;
    args.beta = kind == 3 ? 0 : -0.5f;
    args.function = kind == 1 ? ANTIPHASE_GELU_TANH : ANTIPHASE_IDENTITY;
    fill_c(&x, &args);
    const matrix r = kind == 2 ? x.c : elsewhere;
    args.added = r.first, args.added_row_stride = r.row_stride, args.added_column_stride = r.column_stride,
    args.added_batch_stride = r.batch_stride;
    EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
    if (kind == 2) args.added = NULL;  // C has changed
    EXPECT(wrong_in(&x, &args) == 0);
    args.added = x.c.first + 1, args.added_row_stride = n + 2, args.added_column_stride = 1;
    args.beta = 1;
    REFUSED(antiphase_sgemm(&args, NULL), ANTIPHASE_BAD_REQUEST, "C");
    let_go(&x);
  }
  free(elsewhere.memory);
}

static void members_anywhere(void) {
  subject = "members";
  const int64_t m = 11, n = 19, k = 23, count = 3;
  operands x = {
      matrix_of(k, 1, m * k + 9, 3), matrix_of(n, 1, 0, 4), matrix_of(n + 2, 1, m * (n + 2) + 1, 0), {0}};
  antiphase_sgemm_args args = args_of(&x, m, n, k);
  args.batch = count;
  args.beta = 0.25f;
  fill_c(&x, &args);
  antiphase_sgemm_args by = args;
  const float *a[3], *b[3];
  float* c[3];
  for (int l = 0; l < 3; ++l) a[l] = at(x.a, 0, 0, l), b[l] = at(x.b, 0, 0, l), c[l] = at(x.c, 0, 0, l);
  by.a = by.b = NULL, by.c = NULL;
  by.a_batch_stride = by.b_batch_stride = by.c_batch_stride = 0;
  by.a_members = a, by.b_members = b, by.c_members = c;
  EXPECT(antiphase_sgemm(&by, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  by.b_members = NULL;
  REFUSED(antiphase_sgemm(&by, NULL), ANTIPHASE_BAD_REQUEST, "pointer");
  let_go(&x);
}

static void nothing_to_multiply(void) {
  subject = "nothing to multiply";
  operands x = {matrix_of(6, 1, 0, 1), matrix_of(4, 1, 0, 2), matrix_of(4, 1, 0, 0), {0}};
  antiphase_sgemm_args args = args_of(&x, 5, 4, 0);
  args.a = args.b = NULL;
  args.beta = -2;
  fill_c(&x, &args);
  EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  args = args_of(&x, 5, 4, 6);
  args.alpha = 0;
  args.a = args.b = NULL;
  fill_c(&x, &args);
  EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
  EXPECT(*at(x.c, 4, 3, 0) == 0);
  for (int empty = 0; empty < 3; ++empty) {
    args = args_of(&x, empty == 0 ? 0 : 5, empty == 1 ? 0 : 4, 6);
    args.batch = empty == 2 ? 0 : 1;
    fill_c(&x, &args);
    EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
    EXPECT(c_is_unchanged(&x));
  }
  let_go(&x);
}

static void options_of_products(void) {
  subject = "options";
  operands x = {matrix_of(50, 1, 0, 1), matrix_of(33, 1, 0, 2), matrix_of(33, 1, 0, 0), {0}};
  antiphase_sgemm_args args = args_of(&x, 29, 33, 50);
  fill_c(&x, &args);
  args.precision = ANTIPHASE_PRECISION_STRICT;
  args.if_weaker = ANTIPHASE_REFUSE_WEAKER;
  EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  args.precision = ANTIPHASE_PRECISION_FP32;
  args.reproducible = ANTIPHASE_BATCH_INVARIANT;
  char text[4096];
  EXPECT(antiphase_sgemm_explain(&args, text, sizeof text) == ANTIPHASE_OK);
  EXPECT(strstr(text, "fp64: ") == text && strstr(text, "bound: ") != NULL);
  args.reproducible = ANTIPHASE_BY_SHAPE;
  args.policy = "tiled";
  args.if_weaker = ANTIPHASE_TAKE_WEAKER;
  EXPECT(antiphase_sgemm_explain(&args, text, 9) == ANTIPHASE_OK);
  EXPECT(strncmp(text, "tiled: ", 7) == 0 && strlen(text) == 8);
  REFUSED(antiphase_sgemm_explain(&args, text, 0), ANTIPHASE_BAD_REQUEST, "text has no room");
  REFUSED(antiphase_sgemm_explain(&args, NULL, 5), ANTIPHASE_BAD_REQUEST, "text has no room");
  let_go(&x);
}

static void gains(void) {
  subject = "gains";
  // Nothing is read: only addresses matter.
  static float somewhere[8];
  antiphase_sgemm_args args = ANTIPHASE_SGEMM_ARGS_INIT;
  args.device = ANTIPHASE_CPU;
  double large = 0, small = 0, added = 0;
  args.m = args.n = args.k = 4096;
  args.a = somewhere, args.b = somewhere, args.c = somewhere + 4;
  EXPECT(antiphase_sgemm_gain(&args, &large) == ANTIPHASE_OK);
  EXPECT(large > 2 && large < 10);
  args.m = 1;
  EXPECT(antiphase_sgemm_gain(&args, &small) == ANTIPHASE_OK);
  EXPECT(small > 0 && small < 1);
  args.m = args.n = 7680, args.k = 64;
  EXPECT(antiphase_sgemm_gain(&args, &large) == ANTIPHASE_OK);
  args.beta = 1;
  EXPECT(antiphase_sgemm_gain(&args, &added) == ANTIPHASE_OK);
  EXPECT(added > 0 && added < large * 1.5);
  REFUSED(antiphase_sgemm_gain(&args, NULL), ANTIPHASE_BAD_REQUEST, "times is a null pointer");
  double here = 0, there = 0;
  size_t borrowed = 1, offered = 0;
  EXPECT(antiphase_sgemm_predict(&args, &here, &there, &borrowed) == ANTIPHASE_OK);
  EXPECT(antiphase_sgemm_workspace(&args, &offered) == ANTIPHASE_OK && borrowed <= offered);
  EXPECT(here > 0 && fabs(there / here - added) < 1e-9);  // where cuBLAS was not measured
  REFUSED(antiphase_sgemm_predict(&args, NULL, &there, &borrowed), ANTIPHASE_BAD_REQUEST,
          "seconds is a null pointer");
  REFUSED(antiphase_sgemm_predict(&args, &here, NULL, &borrowed), ANTIPHASE_BAD_REQUEST,
          "cublas_seconds is a null pointer");
  REFUSED(antiphase_sgemm_predict(&args, &here, &there, NULL), ANTIPHASE_BAD_REQUEST,
          "borrowed is a null pointer");
  double seconds = 0, cublas_seconds = 0, times = 0, eager = 0, saved = 0;
  size_t bytes = 1;
  EXPECT(antiphase_sgemm_compare(&args, &seconds, &cublas_seconds, &times, &eager, &saved, &bytes) ==
         ANTIPHASE_OK);
  EXPECT(seconds == here && cublas_seconds == there && times == added && bytes == borrowed);
  EXPECT(fabs(eager / times - 1) < .01);  // the host's time is hidden
  EXPECT(saved > 0 && saved < 1e-5);
  REFUSED(antiphase_sgemm_compare(&args, &seconds, &cublas_seconds, NULL, &eager, &saved, &bytes),
          ANTIPHASE_BAD_REQUEST, "times is a null pointer");
  REFUSED(antiphase_sgemm_compare(&args, &seconds, &cublas_seconds, &times, NULL, &saved, &bytes),
          ANTIPHASE_BAD_REQUEST, "eager_times is a null pointer");
  REFUSED(antiphase_sgemm_compare(&args, &seconds, &cublas_seconds, &times, &eager, NULL, &bytes),
          ANTIPHASE_BAD_REQUEST, "host_saved is a null pointer");
}

static void workspaces_of_products(void) {
  subject = "workspace";
  operands x = {matrix_of(50, 1, 0, 1), matrix_of(33, 1, 0, 2), matrix_of(33, 1, 0, 0), {0}};
  antiphase_sgemm_args args = args_of(&x, 29, 33, 50);
  args.policy = "fp16";
  fill_c(&x, &args);
  size_t bytes = 0;
  EXPECT(antiphase_sgemm_workspace(&args, &bytes) == ANTIPHASE_OK);
  EXPECT(bytes > 0);
  REFUSED(antiphase_sgemm_workspace(&args, NULL), ANTIPHASE_BAD_REQUEST, "bytes is a null pointer");
  args.workspace = aligned_alloc(256, (bytes + 255) / 256 * 256);
  args.workspace_size = 1;
  REFUSED(antiphase_sgemm(&args, NULL), ANTIPHASE_BAD_REQUEST,
          "the workspace has 1 bytes: this product needs");
  EXPECT(c_is_unchanged(&x));
  args.workspace_size = bytes;
  EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  free(args.workspace);
  let_go(&x);
}

static void bad_products(void) {
  subject = "bad products";
  operands x = {matrix_of(17, 1, 300, 1), matrix_of(21, 1, 400, 2), matrix_of(21, 1, 300, 0), {0}};
  const antiphase_sgemm_args good = args_of(&x, 13, 21, 17);
  fill_c(&x, &good);
#define BAD(change, status, words)                        \
  do {                                                    \
    antiphase_sgemm_args args = good;                     \
    change;                                               \
    REFUSED(antiphase_sgemm(&args, NULL), status, words); \
    EXPECT(c_is_unchanged(&x));                           \
  } while (0)
  BAD(args.m = -1, ANTIPHASE_BAD_REQUEST, "A is -1 x 17: extents must not be negative");
  BAD(args.n = -2, ANTIPHASE_BAD_REQUEST, "extents must not be negative");
  BAD(args.k = -3, ANTIPHASE_BAD_REQUEST, "extents must not be negative");
  BAD(args.batch = -1, ANTIPHASE_BAD_REQUEST, "the batch has -1 members");
  BAD(args.a = NULL, ANTIPHASE_BAD_REQUEST, "A is a null pointer");
  BAD(args.b = NULL, ANTIPHASE_BAD_REQUEST, "B is a null pointer");
  BAD(args.c = NULL, ANTIPHASE_BAD_REQUEST, "C is a null pointer");
  BAD(args.a = (const float*)((uintptr_t)args.a + 1), ANTIPHASE_BAD_REQUEST, "A is at address");
  // Only the leading dimension is set.
  BAD(args.a_column_stride = 0, ANTIPHASE_BAD_REQUEST,
      "A's column stride is 0, its other one 17: expected 1 where elements lie side by side, "
      "ANTIPHASE_REPEATED where one stands for all");
  BAD(args.a_row_stride = 0, ANTIPHASE_BAD_REQUEST, "A's row stride is 0, its other one 1");
  BAD(args.b_column_stride = 0, ANTIPHASE_BAD_REQUEST, "B's column stride is 0");
  BAD(args.b_row_stride = 0, ANTIPHASE_BAD_REQUEST, "B's row stride is 0");
  BAD(args.c_column_stride = 0, ANTIPHASE_BAD_REQUEST, "C's column stride is 0");
  BAD(args.c_row_stride = 0, ANTIPHASE_BAD_REQUEST, "C's row stride is 0");
  BAD((args.added = x.a.first, args.added_row_stride = 21), ANTIPHASE_BAD_REQUEST,
      "added's column stride is 0");
  BAD((args.added = x.a.first, args.added_column_stride = 13), ANTIPHASE_BAD_REQUEST,
      "added's row stride is 0");
  BAD((args.a_row_stride = 0, args.a_column_stride = ANTIPHASE_REPEATED), ANTIPHASE_BAD_REQUEST,
      "its other one ANTIPHASE_REPEATED");
  BAD(args.c_row_stride = ANTIPHASE_REPEATED, ANTIPHASE_BAD_REQUEST, "its elements would overlap");
  BAD(args.c_row_stride = 5, ANTIPHASE_BAD_REQUEST, "its elements would overlap");
  BAD((args.batch = 2, args.c_batch_stride = 0), ANTIPHASE_BAD_REQUEST, "its elements would overlap");
  BAD(args.c = x.a.first, ANTIPHASE_BAD_REQUEST, "they must not overlap");
  BAD(args.a_row_stride = INT64_MAX / 2, ANTIPHASE_BAD_REQUEST, "expected less than 2^52 bytes");
  BAD(args.precision = 2, ANTIPHASE_BAD_REQUEST, "precision is 2: expected 0 to 1");
  BAD(args.function = 4, ANTIPHASE_BAD_REQUEST, "function is 4: expected 0 to 3");
  BAD(args.function = -1, ANTIPHASE_BAD_REQUEST, "function is -1");
  BAD(args.reproducible = 9, ANTIPHASE_BAD_REQUEST, "reproducible is 9");
  BAD(args.if_weaker = 3, ANTIPHASE_BAD_REQUEST, "if_weaker is 3");
  BAD(args.reserved = 1, ANTIPHASE_NOT_SUPPORTED, "reserved is 1");
  BAD(args.policy = "fastest", ANTIPHASE_BAD_REQUEST, "fastest");
  BAD(args.device = -3, ANTIPHASE_BAD_REQUEST, "device is -3");
  BAD(args.device = 4711, ANTIPHASE_NOT_SUPPORTED,
      antiphase_device_count() > 0 ? "no CUDA device 4711" : "cannot run on a GPU");
  BAD(args.column_bias = args.c, ANTIPHASE_BAD_REQUEST, "the bias of columns");
  if (antiphase_device_count() == 0)
    BAD(args.device = ANTIPHASE_CURRENT_DEVICE, ANTIPHASE_NOT_SUPPORTED, "there is no current CUDA device");
#undef BAD
  REFUSED(antiphase_sgemm(NULL, NULL), ANTIPHASE_BAD_REQUEST, "antiphase_sgemm_args is a null pointer");
  REFUSED(antiphase_synchronize(-7, NULL), ANTIPHASE_BAD_REQUEST, "device is -7");
  EXPECT(antiphase_synchronize(ANTIPHASE_CPU, NULL) == ANTIPHASE_OK);
  EXPECT(antiphase_trim(ANTIPHASE_CPU) == ANTIPHASE_OK);
  let_go(&x);
}

static void structs_of_other_versions(void) {
  subject = "other versions";
  operands x = {matrix_of(17, 1, 0, 1), matrix_of(21, 1, 0, 2), matrix_of(21, 1, 0, 0), {0}};
  antiphase_sgemm_args args = args_of(&x, 13, 21, 17);
  fill_c(&x, &args);
  // A struct of an older caller is shorter: bytes after its end must not be read.
  antiphase_sgemm_args older = args;
  older.size = offsetof(antiphase_sgemm_args, batch);
  memset((char*)&older + older.size, 0x55, sizeof older - older.size);
  EXPECT(antiphase_sgemm(&older, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  // A struct of a newer caller is longer: its further members must be zero.
  struct {
    antiphase_sgemm_args known;
    char more[40];
  } newer;
  memset(&newer, 0, sizeof newer);
  free(x.c.memory);
  x.c = matrix_of(21, 1, 0, 0);
  args = args_of(&x, 13, 21, 17);
  fill_c(&x, &args);
  newer.known = args;
  newer.known.size = sizeof newer;
  newer.more[30] = 1;
  REFUSED(antiphase_sgemm(&newer.known, NULL), ANTIPHASE_NOT_SUPPORTED, "this library knows the first");
  EXPECT(c_is_unchanged(&x));
  newer.more[30] = 0;
  EXPECT(antiphase_sgemm(&newer.known, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  static const size_t sizes[] = {0, 8, offsetof(antiphase_sgemm_args, batch) - 1, 5000, SIZE_MAX};
  for (int i = 0; i < 5; ++i) {
    args.size = sizes[i];
    REFUSED(antiphase_sgemm(&args, NULL), ANTIPHASE_BAD_REQUEST, "antiphase_sgemm_args.size is ");
  }
  antiphase_scan_args scan = ANTIPHASE_SCAN_ARGS_INIT;
  scan.size = 12;
  REFUSED(antiphase_scan(&scan, NULL), ANTIPHASE_BAD_REQUEST, "antiphase_scan_args.size is 12");
  let_go(&x);
}

// ---- The allocator
// -----------------------------------------------------------------------------------------------------------

typedef struct counted {
  size_t allocated, deallocated, bytes;
  int fails, misaligned, device;
  void* last;
} counted;
static void* count_in(void* user, size_t bytes, int device, antiphase_stream on) {
  counted* const x = user;
  (void)on;
  ++x->allocated;
  x->bytes = bytes;
  x->device = device;
  if (x->fails) return NULL;
  char* const memory = aligned_alloc(256, (bytes + 511) / 256 * 256);
  return x->last = memory + (x->misaligned ? 16 : 0);
}
static void count_out(void* user, void* memory, size_t bytes, int device, antiphase_stream on) {
  counted* const x = user;
  (void)on;
  if (memory == x->last && bytes == x->bytes && device == x->device) ++x->deallocated;
  free((char*)memory - (x->misaligned ? 16 : 0));
}

static void allocators(void) {
  subject = "allocators";
  operands x = {matrix_of(50, 1, 0, 1), matrix_of(33, 1, 0, 2), matrix_of(33, 1, 0, 0), {0}};
  antiphase_sgemm_args args = args_of(&x, 29, 33, 50);
  args.policy = "fp16";
  fill_c(&x, &args);
  counted one = {0};
  REFUSED(antiphase_set_allocator(count_in, NULL, &one), ANTIPHASE_BAD_REQUEST, "no function to deallocate");
  REFUSED(antiphase_set_allocator(NULL, count_out, &one), ANTIPHASE_BAD_REQUEST, "no function to allocate");
  EXPECT(antiphase_set_allocator(count_in, count_out, &one) == ANTIPHASE_OK);
  one.fails = 1;
  REFUSED(antiphase_sgemm(&args, NULL), ANTIPHASE_OUT_OF_MEMORY, "the allocator has no ");
  EXPECT(c_is_unchanged(&x));
  one.fails = 0, one.misaligned = 1;
  REFUSED(antiphase_sgemm(&args, NULL), ANTIPHASE_BAD_REQUEST, "expected a multiple of 256");
  EXPECT(c_is_unchanged(&x) && one.allocated == 2 && one.deallocated == 1);
  one.misaligned = 0;
  EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
  EXPECT(wrong_in(&x, &args) == 0);
  EXPECT(one.allocated == 3 && one.deallocated == 2 && one.device == ANTIPHASE_CPU && one.bytes > 0);
  EXPECT(antiphase_set_allocator(NULL, NULL, NULL) == ANTIPHASE_OK);
  EXPECT(antiphase_sgemm(&args, NULL) == ANTIPHASE_OK);
  EXPECT(one.allocated == 3 && one.deallocated == 2);
  let_go(&x);
}

// ---- Scans
// -----------------------------------------------------------------------------------------------------------

static void scans(void) {
  subject = "scans";
  enum { OUTER = 3, LENGTH = 301, INNER = 5, ALL = OUTER * LENGTH * INNER };
  static int32_t in[ALL], out[ALL];
  for (int i = 0; i < ALL; ++i) in[i] = (i * 7919) % 101 - 50;
  antiphase_scan_args args = ANTIPHASE_SCAN_ARGS_INIT;
  args.device = ANTIPHASE_CPU;
  args.type = ANTIPHASE_I32;
  args.in = in, args.out = out;
  args.outer = OUTER, args.length = LENGTH, args.inner = INNER;
  const int32_t initial = 1000;
  args.kind = ANTIPHASE_EXCLUSIVE, args.direction = ANTIPHASE_REVERSE, args.operation = ANTIPHASE_SUM,
  args.initial = &initial;
  EXPECT(antiphase_scan(&args, NULL) == ANTIPHASE_OK);
  int wrong = 0;
  for (int o = 0; o < OUTER; ++o)
    for (int j = 0; j < INNER; ++j) {
      int32_t sum = initial;
      for (int i = LENGTH - 1; i >= 0; --i) {
        const int p = (o * LENGTH + i) * INNER + j;
        wrong += out[p] != sum;
        sum += in[p];
      }
    }
  EXPECT(wrong == 0);

  subject = "scans by key, of wider sums, of minima";
  static uint8_t flags[ALL];
  for (int i = 0; i < ALL; ++i) flags[i] = i % 37 == 0;
  antiphase_scan_args line = ANTIPHASE_SCAN_ARGS_INIT;
  line.device = ANTIPHASE_CPU;
  line.type = ANTIPHASE_I32, line.in = in, line.out = out, line.length = ALL;
  line.operation = ANTIPHASE_MIN;
  line.keys = flags, line.key_type = ANTIPHASE_U8, line.segments = ANTIPHASE_BY_HEAD_FLAGS;
  EXPECT(antiphase_scan(&line, NULL) == ANTIPHASE_OK);
  wrong = 0;
  for (int i = 0, least = 0; i < ALL; ++i) {
    least = flags[i] || in[i] < least ? in[i] : least;
    wrong += out[i] != least;
  }
  EXPECT(wrong == 0);
  static int8_t small[ALL];
  for (int i = 0; i < ALL; ++i) small[i] = (int8_t)(i % 200 - 100);
  antiphase_scan_args wide = ANTIPHASE_SCAN_ARGS_INIT;
  wide.device = ANTIPHASE_CPU;
  wide.type = ANTIPHASE_I8, wide.result_type = ANTIPHASE_I32, wide.in = small, wide.out = out,
  wide.length = ALL;
  EXPECT(antiphase_scan(&wide, NULL) == ANTIPHASE_OK);
  wrong = 0;
  for (int i = 0, sum = 0; i < ALL; ++i) wrong += out[i] != (sum += small[i]);
  EXPECT(wrong == 0);

  subject = "workspace of scans";
  static float x[5000], y[5000];
  for (int i = 0; i < 5000; ++i) x[i] = (float)(i % 3), y[i] = untouched;
  antiphase_scan_args floats = ANTIPHASE_SCAN_ARGS_INIT;
  floats.device = ANTIPHASE_CPU;
  floats.in = x, floats.out = y, floats.length = 5000;
  size_t bytes = 0;
  EXPECT(antiphase_scan_workspace(&floats, &bytes) == ANTIPHASE_OK);
  EXPECT(bytes > 0);
  floats.workspace = aligned_alloc(256, (bytes + 255) / 256 * 256);
  memset(floats.workspace, 0x77, bytes);
  floats.workspace_size = bytes;
  EXPECT(antiphase_scan_prepare_workspace(&floats, NULL) == ANTIPHASE_OK);
  for (int again = 0; again < 2; ++again) EXPECT(antiphase_scan(&floats, NULL) == ANTIPHASE_OK);
  wrong = 0;
  float sum = 0;
  for (int i = 0; i < 5000; ++i) wrong += !(y[i] == (sum += x[i]));
  EXPECT(wrong == 0);
  floats.workspace_size = 16;
  REFUSED(antiphase_scan(&floats, NULL), ANTIPHASE_BAD_REQUEST, "workspace");
  free(floats.workspace);
  floats.workspace = NULL;
  char text[4096];
  EXPECT(antiphase_scan_explain(&floats, text, sizeof text) == ANTIPHASE_OK);
  EXPECT(strstr(text, "tiles of") != NULL);

  subject = "log-sum-exp";
  static double logs[6] = {1000, 1001, -INFINITY, 999, 0, -1000}, sums[6];
  antiphase_scan_args exponentials = ANTIPHASE_SCAN_ARGS_INIT;
  exponentials.device = ANTIPHASE_CPU;
  exponentials.type = ANTIPHASE_F64, exponentials.in = logs, exponentials.out = sums;
  exponentials.outer = 1, exponentials.length = 3, exponentials.inner = 2;
  exponentials.operation = ANTIPHASE_LOG_SUM_EXP;
  EXPECT(antiphase_scan(&exponentials, NULL) == ANTIPHASE_OK);
  // columns (1000, -inf, 0) and (1001, 999, -1000)
  EXPECT(sums[0] == 1000 && sums[2] == 1000 && sums[4] == 1000 && sums[1] == 1001);
  EXPECT(fabs(sums[3] - (1001 + log1p(exp(-2)))) < 1e-12 && sums[5] == sums[3]);

  subject = "bad scans";
  memset(y, 0, sizeof y);
#define BAD(change, status, words)                      \
  do {                                                  \
    antiphase_scan_args bad = floats;                   \
    change;                                             \
    REFUSED(antiphase_scan(&bad, NULL), status, words); \
    for (int i = 0; i < 5000; ++i) EXPECT(y[i] == 0);   \
  } while (0)
  BAD(bad.type = 13, ANTIPHASE_BAD_REQUEST, "type is 13: expected 0 to 12");
  BAD(bad.type = -1, ANTIPHASE_BAD_REQUEST, "type is -1");
  BAD(bad.result_type = 99, ANTIPHASE_BAD_REQUEST, "result_type is 99");
  BAD(bad.result_type = ANTIPHASE_I32, ANTIPHASE_BAD_REQUEST, "");
  BAD(bad.operation = 5, ANTIPHASE_BAD_REQUEST, "operation is 5: expected 0 to 4");
  BAD((bad.operation = ANTIPHASE_LOG_SUM_EXP, bad.type = ANTIPHASE_I32), ANTIPHASE_NOT_SUPPORTED, "of i32");
  BAD((bad.operation = ANTIPHASE_LOG_SUM_EXP, bad.kind = 1), ANTIPHASE_BAD_REQUEST, "sum of f32, exclusive");
  BAD((bad.operation = ANTIPHASE_LOG_SUM_EXP, bad.keys = x), ANTIPHASE_NOT_SUPPORTED, "no segments");
  BAD(bad.kind = 2, ANTIPHASE_BAD_REQUEST, "kind is 2");
  BAD(bad.direction = 2, ANTIPHASE_BAD_REQUEST, "direction is 2");
  BAD(bad.length = -1, ANTIPHASE_BAD_REQUEST, "-1");
  BAD(bad.in = NULL, ANTIPHASE_BAD_REQUEST, "null");
  BAD(bad.policy = "fastest", ANTIPHASE_BAD_REQUEST, "fastest");
  BAD((bad.keys = x, bad.segments = 2), ANTIPHASE_BAD_REQUEST, "segments is 2");
  BAD((bad.keys = x, bad.key_type = ANTIPHASE_F16), ANTIPHASE_BAD_REQUEST, "f16");
#undef BAD
}

// ---- Attention
// -----------------------------------------------------------------------------------------------------------

enum { MEMBERS = 2, HEADS = 4, KV_HEADS = 2, QUERIES = 5, KEYS = 7, DEPTH = 3 };

// Of one query and head, in FP64: the output, and for a given gradient of it the loss, their product.
static double loss_of(const float* q, const float* k, const float* v, const float* grad, const float* bias,
                      const uint8_t* visible, float* out) {
  double loss = 0;
  for (int b = 0; b < MEMBERS; ++b)
    for (int h = 0; h < HEADS; ++h)
      for (int i = 0; i < QUERIES; ++i) {
        double weight[KEYS], sum = 0;
        const int kv = b * KV_HEADS + h / (HEADS / KV_HEADS), row = (b * HEADS + h) * QUERIES + i;
        for (int j = 0; j < KEYS; ++j) {
          double score = 0;
          for (int d = 0; d < DEPTH; ++d)
            score += (double)q[row * DEPTH + d] * k[(kv * KEYS + j) * DEPTH + d];
          const int seen = j <= i + KEYS - QUERIES && visible[b * KEYS + j];
          weight[j] = seen ? exp(score / sqrt(DEPTH) + bias[i * KEYS + j]) : 0;
          sum += weight[j];
        }
        for (int d = 0; d < DEPTH; ++d) {
          double o = 0;
          for (int j = 0; j < KEYS; ++j) o += weight[j] / sum * v[(kv * KEYS + j) * DEPTH + d];
          if (out != NULL) out[row * DEPTH + d] = (float)o;
          loss += o * grad[row * DEPTH + d];
        }
      }
  return loss;
}

static void attending(void) {
  subject = "linear layers";
  uint16_t few_rows[5 * 40], weights[24 * 40], layer_bias[24];
  float together[5 * 24], alone[24];
  for (int i = 0; i < 5 * 40; ++i) few_rows[i] = (uint16_t)(0x3F00 + i * 37 % 200);  // bf16, 0.5 and more
  for (int i = 0; i < 24 * 40; ++i) weights[i] = (uint16_t)(0xBE80 + i * 53 % 300);
  antiphase_linear_args layer = ANTIPHASE_LINEAR_ARGS_INIT;
  layer.device = ANTIPHASE_CPU, layer.result_type = ANTIPHASE_F32;
  layer.m = 5, layer.n = 24, layer.k = 40;
  layer.x.data = few_rows, layer.w.data = weights, layer.y = together;
  EXPECT(antiphase_linear(&layer, NULL) == ANTIPHASE_OK);
  layer.m = 1, layer.x.data = few_rows + 3 * 40, layer.y = alone;
  EXPECT(antiphase_linear(&layer, NULL) == ANTIPHASE_OK);
  EXPECT(memcmp(alone, together + 3 * 24, sizeof alone) == 0);
  char kernel_text[200];
  EXPECT(antiphase_linear_explain(&layer, kernel_text, sizeof kernel_text) == ANTIPHASE_OK &&
         strstr(kernel_text, "bf16-") != NULL);
  // one number repeated along both axes, and one row added to all
  uint16_t number[1] = {0x3F00}, all_numbers[24 * 40];
  float row[24], all_rows[5 * 24], repeated[5 * 24];
  for (int i = 0; i < 24 * 40; ++i) all_numbers[i] = number[0];
  for (int i = 0; i < 5 * 24; ++i) all_rows[i] = row[i % 24] = (float)(i % 24) / 7;
  layer.m = 5, layer.x.data = few_rows, layer.w.data = all_numbers, layer.residual = all_rows,
  layer.y = together;
  EXPECT(antiphase_linear(&layer, NULL) == ANTIPHASE_OK);
  layer.w.data = number, layer.w.row_stride = layer.w.k_stride = ANTIPHASE_REPEATED;
  layer.residual = row, layer.residual_row_stride = ANTIPHASE_REPEATED, layer.y = repeated;
  EXPECT(antiphase_linear(&layer, NULL) == ANTIPHASE_OK);
  EXPECT(memcmp(repeated, together, sizeof repeated) == 0);
  layer.y_row_stride = ANTIPHASE_REPEATED;
  REFUSED(antiphase_linear(&layer, NULL), ANTIPHASE_BAD_REQUEST, "rows of Y overlap");
  layer.y_row_stride = 0;
  int32_t ends[2] = {2, 9};
  layer.members = 2, layer.group_ends = ends;
  REFUSED(antiphase_linear(&layer, NULL), ANTIPHASE_BAD_REQUEST,
          "group 1 of rows ends at 9: expected 2 to 5");
  layer.members = 1, layer.group_ends = NULL;

  layer.bias = layer_bias, layer.function = 4;
  REFUSED(antiphase_linear(&layer, NULL), ANTIPHASE_BAD_REQUEST, "function is 4: expected 0 to 3");

  subject = "attention";
  static float x[4][MEMBERS * HEADS * KEYS * DEPTH], out[MEMBERS * HEADS * QUERIES * DEPTH],
      bias[QUERIES * KEYS];
  static float expected[MEMBERS * HEADS * QUERIES * DEPTH], softmax[2 * MEMBERS * HEADS * QUERIES];
  static float logsumexp[MEMBERS * HEADS * QUERIES], to[3][MEMBERS * HEADS * KEYS * DEPTH];
  float *const q = x[0], *const k = x[1], *const v = x[2], *const grad = x[3];
  uint8_t visible[MEMBERS * KEYS];
  for (int o = 0; o < 4; ++o)
    for (int i = 0; i < MEMBERS * HEADS * KEYS * DEPTH; ++i)
      x[o][i] = (float)((i * 7919 + o * 131) % 101 - 50) / 32;
  for (int i = 0; i < QUERIES * KEYS; ++i) bias[i] = (float)(i * 37 % 11) / 8;
  for (int i = 0; i < MEMBERS * KEYS; ++i) visible[i] = i % 3 != 1;
  antiphase_attention_args args = ANTIPHASE_ATTENTION_ARGS_INIT;
  args.device = ANTIPHASE_CPU;
  args.members = MEMBERS, args.heads = HEADS, args.kv_heads = KV_HEADS;
  args.queries = QUERIES, args.keys = KEYS, args.depth = DEPTH;
  args.q.data = q, args.k.data = k, args.v.data = v, args.out.data = out;
  args.causal = ANTIPHASE_CAUSAL_BOTTOM_RIGHT;
  args.bias.data = bias, args.bias.query_stride = KEYS,
  args.bias.key_stride = 1;  // shared by members and heads
  args.visible.data = visible, args.visible.member_stride = KEYS, args.visible.key_stride = 1;
  args.logsumexp = logsumexp, args.softmax = softmax;
  EXPECT(antiphase_attention(&args, NULL) == ANTIPHASE_OK);
  loss_of(q, k, v, grad, bias, visible, expected);
  int wrong = 0;
  for (int i = 0; i < MEMBERS * HEADS * QUERIES * DEPTH; ++i) wrong += !(fabsf(out[i] - expected[i]) < 1e-5f);
  EXPECT(wrong == 0);
  for (int i = 0; i < MEMBERS * HEADS * QUERIES; ++i)
    wrong += !(fabs(logsumexp[i] - (softmax[2 * i] + log2(softmax[2 * i + 1])) * 0.6931471805599453) < 1e-5);
  EXPECT(wrong == 0);

  subject = "gradients of attention";
  args.out_gradient.data = grad;
  args.q_gradient.data = to[0], args.k_gradient.data = to[1], args.v_gradient.data = to[2];
  EXPECT(antiphase_attention_backward(&args, NULL) == ANTIPHASE_OK);
  for (int o = 0; o < 3; ++o)
    for (int i = 0; i < MEMBERS * (o == 0 ? HEADS * QUERIES : KV_HEADS * KEYS) * DEPTH; i += 5) {
      const float was = x[o][i], by = 1.0f / 256;
      x[o][i] = was + by;
      const double above = loss_of(q, k, v, grad, bias, visible, NULL);
      x[o][i] = was - by;
      const double below = loss_of(q, k, v, grad, bias, visible, NULL);
      x[o][i] = was;
      wrong += !(fabs(to[o][i] - (above - below) / (2 * by)) < 1e-3);
    }
  EXPECT(wrong == 0);

  subject = "logsumexp with floats between heads";
  enum { APART = 32 };
  static float far_apart[MEMBERS * HEADS * APART], again[MEMBERS * HEADS * QUERIES * DEPTH];
  args.out_gradient.data = NULL;
  args.logsumexp = far_apart, args.logsumexp_stride = APART;
  EXPECT(antiphase_attention(&args, NULL) == ANTIPHASE_OK);
  for (int i = 0; i < MEMBERS * HEADS * APART; ++i)
    wrong += far_apart[i] != (i % APART < QUERIES ? logsumexp[i / APART * QUERIES + i % APART] : INFINITY);
  EXPECT(wrong == 0);
  args.out_gradient.data = grad, args.softmax = NULL, args.q_gradient.data = again;
  EXPECT(antiphase_attention_backward(&args, NULL) == ANTIPHASE_OK);
  for (int i = 0; i < MEMBERS * HEADS * QUERIES * DEPTH; ++i) wrong += !(fabsf(again[i] - to[0][i]) < 1e-5f);
  EXPECT(wrong == 0);
  args.logsumexp_stride = QUERIES - 1;
  REFUSED(antiphase_attention_backward(&args, NULL), ANTIPHASE_BAD_REQUEST, "logsumexp_stride is");
  args.size = offsetof(antiphase_attention_args, logsumexp_stride);  // an older caller's
  args.logsumexp = logsumexp, args.q_gradient.data = again;
  EXPECT(antiphase_attention_backward(&args, NULL) == ANTIPHASE_OK);
  args.size = sizeof args, args.logsumexp_stride = 0, args.softmax = softmax;
  args.q_gradient.data = to[0];

  subject = "the gradient of a bias";
  static float of_bias[MEMBERS * HEADS * QUERIES * KEYS];
  args.bias_gradient.data = of_bias;
  REFUSED(antiphase_attention_backward(&args, NULL), ANTIPHASE_NOT_SUPPORTED, "the gradient of a bias");
  args.causal = ANTIPHASE_ALL_KEYS, args.out_gradient.data = NULL;
  EXPECT(antiphase_attention(&args, NULL) == ANTIPHASE_OK);
  args.out_gradient.data = grad;
  EXPECT(antiphase_attention_backward(&args, NULL) == ANTIPHASE_OK);
  double largest = 0;
  for (int i = 0; i < MEMBERS * HEADS * QUERIES; ++i) {
    double sum = 0;
    for (int j = 0; j < KEYS; ++j) {
      sum += of_bias[i * KEYS + j], largest = fmax(largest, fabs(of_bias[i * KEYS + j]));
      wrong += visible[i / (HEADS * QUERIES) * KEYS + j] == 0 && of_bias[i * KEYS + j] != 0;
    }
    wrong += !(fabs(sum) < 1e-5);  // weights add up to 1 with any bias
  }
  EXPECT(wrong == 0 && largest > 1e-3);
  args.causal = ANTIPHASE_CAUSAL_BOTTOM_RIGHT, args.bias_gradient.data = NULL;

  subject = "arguments of attention";
  size_t bytes = 77, forward_bytes = 77;
  double seconds = 0;
  char text[4096];
  EXPECT(antiphase_attention_workspace(&args, &bytes) == ANTIPHASE_OK && bytes > 77);
  EXPECT(antiphase_attention_predict(&args, &seconds) == ANTIPHASE_OK && seconds > 0 && seconds < 1e-2);
  EXPECT(antiphase_attention_explain(&args, text, sizeof text) == ANTIPHASE_OK &&
         strstr(text, "3 launches") != NULL);
  args.workspace = aligned_alloc(256, (bytes + 255) / 256 * 256), args.workspace_size = bytes;
  EXPECT(antiphase_attention_backward(&args, NULL) == ANTIPHASE_OK);
  args.workspace_size = bytes - 1;
  REFUSED(antiphase_attention_backward(&args, NULL), ANTIPHASE_BAD_REQUEST, "the workspace has");
  free(args.workspace), args.workspace = NULL;
  args.out_gradient.data = NULL;
  EXPECT(antiphase_attention_workspace(&args, &forward_bytes) == ANTIPHASE_OK && forward_bytes != 77);
  REFUSED(antiphase_attention_backward(&args, NULL), ANTIPHASE_BAD_REQUEST,
          "the gradient of out is a null pointer");
  args.causal = 3;
  REFUSED(antiphase_attention(&args, NULL), ANTIPHASE_BAD_REQUEST, "causal is 3: expected 0 to 2");
  args.causal = 0, args.scale_given = 2;
  REFUSED(antiphase_attention(&args, NULL), ANTIPHASE_BAD_REQUEST, "scale_given is 2");
  args.scale_given = 0, args.heads = args.queries = args.keys = INT64_MAX;
  REFUSED(antiphase_attention(&args, NULL), ANTIPHASE_BAD_REQUEST, "heads is");
  args.heads = HEADS, args.queries = QUERIES, args.keys = KEYS, args.policy = "fastest";
  REFUSED(antiphase_attention(&args, NULL), ANTIPHASE_BAD_REQUEST, "fastest");
  args.policy = "fp32", args.q.row_stride = ANTIPHASE_REPEATED;  // the first query for all
  args.causal = 0, args.bias.data = NULL, args.visible.data = NULL;
  EXPECT(antiphase_attention(&args, NULL) == ANTIPHASE_OK);
  for (int i = 0; i < QUERIES * DEPTH; ++i) wrong += out[i] != out[i % DEPTH];
  EXPECT(wrong == 0);
  // a scale of 0 that was given: every query has the mean of V
  args.scale = 0, args.scale_given = 1;
  EXPECT(antiphase_attention(&args, NULL) == ANTIPHASE_OK);
  for (int c = 0; c < DEPTH; ++c) {
    double mean = 0;
    for (int j = 0; j < KEYS; ++j) mean += v[j * DEPTH + c] / (double)KEYS;
    wrong += !(fabs(out[c] - mean) <= 1e-6);
  }
  EXPECT(wrong == 0);
}

// ---- Threads, names
// -----------------------------------------------------------------------------------------------------------

static pthread_barrier_t both_have_failed;
static void* fail_in_a_thread(void* number) {
  antiphase_sgemm_args args = ANTIPHASE_SGEMM_ARGS_INIT;
  args.device = -10 - *(int*)number;
  char expected[40];
  snprintf(expected, sizeof expected, "device is %d", (int)args.device);
  const int fresh = antiphase_last_message()[0] == '\0';
  const int refused = antiphase_sgemm(&args, NULL) == ANTIPHASE_BAD_REQUEST;
  pthread_barrier_wait(&both_have_failed);
  *(int*)number = fresh && refused && strstr(antiphase_last_message(), expected) != NULL;
  return NULL;
}
static void messages_of_threads(void) {
  subject = "threads";
  pthread_barrier_init(&both_have_failed, NULL, 2);
  pthread_t threads[2];
  int numbers[2] = {0, 1};
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, fail_in_a_thread, &numbers[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  EXPECT(numbers[0] == 1 && numbers[1] == 1);
}

// Products from several threads: each block returns to the allocator that it came from.
static atomic_int lent, working;
static void* lend(void* user, size_t bytes, int device, antiphase_stream on) {
  (void)user, (void)device, (void)on;
  ++lent;
  return aligned_alloc(256, (bytes + 255) / 256 * 256);
}
static void take_back(void* user, void* memory, size_t bytes, int device, antiphase_stream on) {
  (void)user, (void)bytes, (void)device, (void)on;
  --lent;
  free(memory);
}
static void* multiply_in_a_thread(void* number) {
  int wrong = 0;
  for (int again = 0; again < 4; ++again) {
    const int64_t m = 20 + 3 * *(int*)number, n = 33, k = 50;
    operands x = {
        matrix_of(k, 1, 0, 1 + *(int*)number), matrix_of(n, 1, 0, 9 + again), matrix_of(n, 1, 0, 0), {0}};
    antiphase_sgemm_args args = args_of(&x, m, n, k);
    args.policy = again % 2 ? "fp16" : NULL;
    fill_c(&x, &args);
    wrong += antiphase_sgemm(&args, (antiphase_stream)(uintptr_t)(8 + 8 * *(int*)number)) != ANTIPHASE_OK ||
             wrong_in(&x, &args) != 0;
    let_go(&x);
  }
  *(int*)number = wrong;
  --working;
  return NULL;
}
static void products_of_threads(void) {
  subject = "products of threads";
  enum { COUNT = 6 };
  pthread_t threads[COUNT];
  int numbers[COUNT];
  working = COUNT;
  for (int i = 0; i < COUNT; ++i)
    numbers[i] = i, pthread_create(&threads[i], NULL, multiply_in_a_thread, &numbers[i]);
  for (int turn = 0; working > 0; ++turn) {
    const int ours = turn % 2 == 0;
    EXPECT(antiphase_set_allocator(ours ? lend : NULL, ours ? take_back : NULL, NULL) == ANTIPHASE_OK);
    sched_yield();
  }
  for (int i = 0; i < COUNT; ++i) {
    pthread_join(threads[i], NULL);
    EXPECT(numbers[i] == 0);
  }
  EXPECT(antiphase_set_allocator(NULL, NULL, NULL) == ANTIPHASE_OK);
  EXPECT(lent == 0);
}

static int flag;
static void* raise_the_flag(void* counted) {
  const struct timespec patience = {0, 20000000};
  (void)counted;
  nanosleep(&patience, NULL);
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

// Calls cancelled by a flag, during and before the call; the calls after them are right.
static void interrupted(void) {
  enum { LONG = 1 << 20 };
  float* numbers = malloc(LONG * sizeof(float));
  float* sums = malloc(LONG * sizeof(float));
  pthread_t other;
  antiphase_sgemm_args product = ANTIPHASE_SGEMM_ARGS_INIT;
  antiphase_scan_args scan = ANTIPHASE_SCAN_ARGS_INIT;
  subject = "interrupted";
  for (int i = 0; i < LONG; ++i) numbers[i] = 1;
  product.device = scan.device = ANTIPHASE_CPU;
  product.m = product.n = product.k = 1024;
  product.a = product.b = numbers, product.c = sums;
  scan.in = numbers, scan.out = sums, scan.length = LONG, scan.type = ANTIPHASE_F32;
  antiphase_set_interrupt_flag(&flag);
  pthread_create(&other, NULL, raise_the_flag, NULL);
  REFUSED(antiphase_sgemm(&product, NULL), ANTIPHASE_INTERRUPTED, "was interrupted");
  pthread_join(other, NULL);
  REFUSED(antiphase_scan(&scan, NULL), ANTIPHASE_INTERRUPTED, "was interrupted");
  flag = 0;
  pthread_create(&other, NULL, raise_the_flag, NULL);
  while (antiphase_scan(&scan, NULL) == ANTIPHASE_OK) {
  }
  EXPECT(strstr(antiphase_last_message(), "was interrupted") != NULL);
  pthread_join(other, NULL);
  antiphase_set_interrupt_flag(NULL);
  product.m = product.n = product.k = 64;
  EXPECT(antiphase_scan(&scan, NULL) == ANTIPHASE_OK && sums[LONG - 1] == LONG && sums[777] == 778);
  EXPECT(antiphase_sgemm(&product, NULL) == ANTIPHASE_OK && sums[0] == 64 && sums[4095] == 64);
  free(numbers);
  free(sums);
}

static void names(void) {
  subject = "names";
  EXPECT(antiphase_last_message()[0] == '\0');
  EXPECT(antiphase_version() == ANTIPHASE_EXPECTED_VERSION);
  EXPECT(strcmp(antiphase_status_name(ANTIPHASE_OK), "ok") == 0);
  EXPECT(strcmp(antiphase_status_name(ANTIPHASE_OUT_OF_MEMORY), "out of memory") == 0);
  EXPECT(strcmp(antiphase_status_name(ANTIPHASE_INTERRUPTED), "interrupted") == 0);
  EXPECT(strcmp(antiphase_status_name((antiphase_status)7), "unknown status") == 0);
  EXPECT(antiphase_device_count() >= 0);
  EXPECT(antiphase_is_measured(ANTIPHASE_CPU) == 0);
  EXPECT(antiphase_is_measured(4711) == 0);
}

static void torch_operators(void) {
  double seconds = 0, theirs = 0, alone = 0;
  int wins = 7;
  subject = "torch's operators";
  EXPECT(antiphase_torch_attention_compare(ANTIPHASE_CPU, 0, 8, 12, 1024, 1024, 64, 1, 0, 1, 1.0, &seconds,
                                           &theirs, &wins) == ANTIPHASE_OK);
  EXPECT(seconds == 1.0 && theirs > 1e-4 && theirs < 1e-3 && wins == 0);
  EXPECT(antiphase_torch_attention_compare(ANTIPHASE_CPU, 1, 8, 12, 1024, 1024, 64, 0, 0, 4, 1.0, &seconds,
                                           &alone, &wins) == ANTIPHASE_OK);
  EXPECT(alone > theirs);
  EXPECT(antiphase_torch_attention_compare(ANTIPHASE_CPU, 0, 1, 1, 49, 49, 32, 0, 0, 4, 0.0, &alone, &theirs,
                                           &wins) == ANTIPHASE_OK);
  EXPECT(antiphase_torch_attention_compare(ANTIPHASE_CPU, 0, 1, 1, 49, 49, 32, 0, 0, 1, 0.0, &seconds,
                                           &theirs, &wins) == ANTIPHASE_OK);
  EXPECT(seconds > 0 && seconds < alone && theirs > seconds);
  EXPECT(antiphase_torch_attention_compare(ANTIPHASE_CPU, 0, 1, 1, 49, 49, 32, 0, 0, 0, 0.0, &seconds, &alone,
                                           &wins) == ANTIPHASE_OK);
  EXPECT(seconds == 0 && alone < theirs);
  REFUSED(antiphase_torch_attention_compare(ANTIPHASE_CPU, 0, 1, 1, 49, 49, 32, 0, 0, -1, 0.0, &seconds,
                                            &alone, &wins),
          ANTIPHASE_BAD_REQUEST, "launches is -1: expected 0 or more");
  EXPECT(antiphase_torch_scan_compare(ANTIPHASE_CPU, ANTIPHASE_LOG_SUM_EXP, 1, 1 << 20, 32, 4, 4, &seconds,
                                      &theirs, &wins) == ANTIPHASE_OK);
  EXPECT(seconds > 0 && theirs > 10 * seconds && wins == 0);
  REFUSED(antiphase_torch_scan_compare(ANTIPHASE_CPU, 5, 1, 1, 1, 4, 4, &seconds, &theirs, &wins),
          ANTIPHASE_BAD_REQUEST, "operation is 5: expected 0 to 4");
  REFUSED(antiphase_torch_scan_compare(ANTIPHASE_CPU, 0, 1, 0, 1, 4, 4, &seconds, &theirs, &wins),
          ANTIPHASE_BAD_REQUEST, "length is 0: expected 1 to 2^40");
  REFUSED(antiphase_torch_scan_compare(ANTIPHASE_CPU, 0, 1, 1, 1, 4, 4, &seconds, &theirs, NULL),
          ANTIPHASE_BAD_REQUEST, "wins is a null pointer");
}

static void advice(void) {
  char text[16384];
  subject = "advice";
  EXPECT(antiphase_advise("{\"about\": \"gemm\", \"m\": 4096, \"n\": 4096, \"k\": 4096}", text,
                          sizeof text) == ANTIPHASE_OK);
  EXPECT(strstr(text, "\"pick\":{\"policy\":\"") != NULL && text[strlen(text) - 1] == '}');
  EXPECT(antiphase_advise("{\"about\": \"scan\", \"count\": 5}", text, 9) == ANTIPHASE_OK);
  EXPECT(strlen(text) == 8);
  REFUSED(antiphase_advise("{\"about\": \"gemm\", \"m\": 0, \"n\": 1, \"k\": 1}", text, sizeof text),
          ANTIPHASE_BAD_REQUEST, "m is 0");
  REFUSED(antiphase_advise(NULL, text, sizeof text), ANTIPHASE_BAD_REQUEST, "null pointer");
  REFUSED(antiphase_advise("{\"about\": \"scan\", \"count\": 5}", text, 0), ANTIPHASE_BAD_REQUEST,
          "text has no room");
}

int main(void) {
  names();
  interrupted();
  torch_operators();
  advice();
  products_of_any_strides();
  packed_rows_are_the_default();
  strides_of_vectors();
  repeated_along_both();
  batches_with_biases_and_functions();
  another_matrix_is_added();
  members_anywhere();
  nothing_to_multiply();
  options_of_products();
  gains();
  workspaces_of_products();
  bad_products();
  structs_of_other_versions();
  allocators();
  scans();
  attending();
  messages_of_threads();
  products_of_threads();
  printf("%d faults\n", faults);
  return faults != 0;
}
