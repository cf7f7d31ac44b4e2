// SPDX-License-Identifier: Apache-2.0
// unusual taken|passed: calls that hardly any program makes, each with a result that follows from cuBLAS's
// documentation alone. Prints how many were taken; the fake, which computes too, gets the others.
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fake_cublas.h"

enum { M = 21, N = 13, K = 17, ROOM = 4096 };
static _Atomic int faults, taken;
static int is_taken;

typedef struct {
  float a[ROOM], b[ROOM], c[ROOM], before[ROOM];
} memory;
static void fill(memory* of) {
  for (int i = 0; i < ROOM; ++i) {
    of->a[i] = (float)((i * 7919) % 101 - 50) / 16;
    of->b[i] = (float)((i * 104729) % 103 - 51) / 16;
    of->c[i] = of->before[i] = (float)(i % 37) / 4;
  }
}
static void expect(const char* what, int right) {
  if (right) return;
  ++faults;
  printf("%s\n", what);
}
// Checks that the fake was not called, as expected of calls that are to be taken.
static void is_ours(const char* what, fake_handle* on, int is) {
  taken += on->calls == 0;
  expect(what, (on->calls == 0) == (is && is_taken) && on->calls <= 1);
  on->calls = 0;
}
static int same(float x, double y) { return isnan(y) ? isnan(x) : x == y || fabs(x - y) <= 1e-3; }

static void one(const char* what, memory* of, float alpha, float beta) {
  fake_handle on = {.computes = 1};
  errno = 4711;
  expect(what, cublasSgemm_v2(&on, 0, 0, M, N, K, &alpha, of->a, M, of->b, K, &beta, of->c, M) == 0);
  expect("errno", errno == 4711);
  is_ours(what, &on, 1);
  int right = 1;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int p = 0; p < K && alpha != 0; ++p) sum += (double)of->a[i + p * M] * of->b[p + j * K];
      const double added = beta == 0 ? 0 : (double)beta * of->before[i + j * M];
      right &= same(of->c[i + j * M], (alpha == 0 ? 0 : alpha * sum) + added);
    }
  expect(what, right);
}

static void values(void) {
  static memory of;
  fill(&of), one("alpha is NaN", &of, NAN, 0.5f);
  fill(&of), one("beta is NaN", &of, 2, NAN);
  fill(&of), one("alpha is infinite", &of, INFINITY, 0);
  fill(&of), of.c[5] = of.before[5] = NAN, one("C holds a NaN that no thread asks for", &of, 1, 0);
  fill(&of), of.c[5] = of.before[5] = NAN, one("C holds a NaN", &of, 1, 1);
  fill(&of), of.a[7] = NAN, one("A holds a NaN", &of, 1, 1);
  fill(&of), one("a negative zero", &of, 1, -0.f);
}

// Invalid calls, and extents that exceed memory, are passed on with their arguments unchanged.
static void extents(void) {
  static memory of;
  fill(&of);
  const float alpha = 1, beta = 1;
  fake_handle on = {.quiet = 1};
  const int64_t far = 1ll << 32, end = 1ll << 62;
  cublasSgemm_v2_64(&on, 0, 0, M, N, far, &alpha, of.a, M, of.b, far, &beta, of.c, M),
      is_ours("K of 2^32", &on, 0);
  cublasSgemm_v2_64(&on, 0, 0, M, N, K, &alpha, of.a, end, of.b, K, &beta, of.c, M),
      is_ours("lda of 2^62", &on, 0);
  cublasSgemm_v2_64(&on, 0, 0, end, end, end, &alpha, of.a, end, of.b, end, &beta, of.c, end),
      is_ours("all of 2^62", &on, 0);
  cublasSgemm_v2_64(&on, 0, 0, INT64_MAX, 1, 1, &alpha, of.a, INT64_MAX, of.b, 1, &beta, of.c, INT64_MAX),
      is_ours("M of 2^63 - 1", &on, 0);
  cublasSgemm_v2_64(&on, 0, 0, INT64_MIN, N, K, &alpha, of.a, M, of.b, K, &beta, of.c, M),
      is_ours("M of -2^63", &on, 0);
  cublasSgemm_v2(&on, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 0, NULL, NULL, 0),
      is_ours("nothing at all", &on, 0);
  cublasSgemm_v2(&on, 0, 0, M, N, K, &alpha, of.a, M, of.b, K, &beta, (float*)((char*)of.c + 2), M),
      is_ours("C at half an element", &on, 0);
  cublasSgemm_v2(&on, 0, 0, M, N, K, &alpha, of.a, M, of.b, K, &beta, of.b + 3, M),
      is_ours("C within B", &on, 0);
  cublasSgemmStridedBatched(&on, 0, 0, M, N, K, &alpha, of.a, M, INT64_MAX / 4, of.b, K, 0, &beta, of.c, M,
                            400, 3);
  is_ours("members of A beyond memory", &on, 0);
  cublasSgemmStridedBatched(&on, 0, 0, M, N, K, &alpha, of.a, M, 0, of.b, K, 0, &beta, of.c, M, 0, 3),
      is_ours("one C for all", &on, 0);
  expect("nothing is changed", memcmp(of.c, of.before, sizeof of.c) == 0);
  // Batch members may lie in either direction, and coincide.
  fake_handle computes = {.computes = 1};
  for (int backwards = 0; backwards < 2; ++backwards) {
    fill(&of);
    const long long step = backwards ? -400 : 400;
    float* const first = of.c + (backwards ? 800 : 0);
    cublasSgemmStridedBatched(&computes, 0, 0, M, N, K, &alpha, of.a, M, 0, of.b + 800, K, step, &beta, first,
                              M, step, 3);
    is_ours("members in either direction", &computes, 1);
    int right = 1;
    for (int l = 0; l < 3; ++l)
      for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
          double sum = 0;
          for (int p = 0; p < K; ++p) sum += (double)of.a[i + p * M] * of.b[800 + l * step + p + j * K];
          const long long at = first - of.c + l * step + i + j * M;
          right &= same(of.c[at], sum + of.before[at]);
        }
    expect("members in either direction: their values", right);
  }
}

// Modes and streams belong to the handle, and may change between calls.
static void modes(void) {
  static memory of;
  const float alpha = 1, beta = 0;
  fake_handle on = {.quiet = 1};
  fill(&of);
  const struct {
    int math, pointers, is;
    void* stream;
  } turns[] = {{0, 0, 1, NULL}, {3, 0, 0, NULL}, {0, 1, 0, NULL}, {0, 0, 1, NULL}, {2, 0, 0, NULL}};
  for (unsigned t = 0; t < sizeof turns / sizeof *turns; ++t) {
    on.math_mode = turns[t].math, on.pointer_mode = turns[t].pointers, on.stream = turns[t].stream;
    cublasSgemm_v2(&on, 0, 0, M, N, K, &alpha, of.a, M, of.b, K, &beta, of.c, M);
    is_ours("modes of a handle", &on, turns[t].is);
  }
  on.quiet = 0, on.sets_errno = 815;
  cublasSgemm_v2(&on, 0, 0, M, N, K, &alpha, of.a, M, of.b, K, &beta, of.c, M),
      is_ours("pedantic again", &on, 0);
  expect("errno of the original", errno == 815);
}

static void* of_thread(void* unused) {
  memory* const of = unused;
  fill(of), one("a handle and a call of a thread's own", of, -1, 2);
  return NULL;
}
// A thread's blocked signals stay blocked, and a thread that has called may end.
static void threads(void) {
  static memory all[2];
  sigset_t before = {0}, after = {0};
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, of_thread, &all[i]);
    pthread_join(thread, NULL);
  }
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  expect("signals", memcmp(&before, &after, sizeof before) == 0);
}

int main(int count, char** words) {
  if (count != 2) return 2;
  is_taken = strcmp(words[1], "taken") == 0;
  values(), extents(), modes(), threads();
  printf("%d taken\n", taken);
  return faults != 0;
}
