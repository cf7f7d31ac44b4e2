// SPDX-License-Identifier: Apache-2.0
// Children forked while other threads are inside library calls, first calls included, compute as their
// parents do.

#define _POSIX_C_SOURCE 200809L
#include <antiphase.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 48, LENGTH = 5000 };
static float a[SIZE * SIZE], b[SIZE * SIZE], in[LENGTH];
static atomic_int stop;

static void* lend(void* user, size_t bytes, int device, antiphase_stream on) {
  void* memory = NULL;
  (void)user, (void)device, (void)on;
  return posix_memalign(&memory, 256, bytes + 1) == 0 ? memory : NULL;
}
static void take_back(void* user, void* memory, size_t bytes, int device, antiphase_stream on) {
  (void)user, (void)bytes, (void)device, (void)on;
  free(memory);
}

// Integers, whose sums are exact.
static int computes(void) {
  float c[SIZE * SIZE], out[LENGTH], sum = 0;
  antiphase_sgemm_args x = ANTIPHASE_SGEMM_ARGS_INIT;
  antiphase_scan_args s = ANTIPHASE_SCAN_ARGS_INIT;
  x.device = s.device = ANTIPHASE_CPU;
  x.m = x.n = x.k = SIZE, x.a = a, x.b = b, x.c = c;
  s.in = in, s.out = out, s.length = LENGTH;
  antiphase_set_allocator(lend, take_back, NULL);
  if (antiphase_sgemm(&x, NULL) != ANTIPHASE_OK || antiphase_scan(&s, NULL) != ANTIPHASE_OK) return 0;
  for (int i = 0; i < SIZE * SIZE; ++i) {
    float expected = 0;
    for (int k = 0; k < SIZE; ++k) expected += a[i / SIZE * SIZE + k] * b[k * SIZE + i % SIZE];
    if (c[i] != expected) return 0;
  }
  for (int i = 0; i < LENGTH; ++i)
    if (out[i] != (sum += in[i])) return 0;
  return 1;
}
static void* compute(void* none) {
  while (!stop && computes()) {
  }
  return none;
}

// Returns 0 if f() is true in a child process.
static int forked(int (*f)(void)) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that hangs
    _exit(f() ? 0 : 1);
  }
  waitpid(child, &status, 0);
  return status;
}

static int microseconds;
static int first_calls(void) {
  pthread_t other;
  const struct timespec wait = {0, 1000L * microseconds};
  if (pthread_create(&other, NULL, compute, NULL) != 0) return 0;
  nanosleep(&wait, NULL);
  return forked(computes) == 0;
}

int main(void) {
  pthread_t others[3];
  for (int i = 0; i < SIZE * SIZE; ++i) a[i] = (float)(i * 7 % 11 - 5), b[i] = (float)(i * 5 % 13 - 6);
  for (int i = 0; i < LENGTH; ++i) in[i] = (float)(i % 7 - 2);
  // Every iteration forks from a new parent.
  for (int i = 0; i < 30; ++i) {
    microseconds = 80 * i;
    const int status = forked(first_calls);
    if (status != 0)
      return printf("a child forked during first calls, after %d us: status %#x\n", microseconds, status), 1;
  }
  for (int i = 0; i < 3; ++i) pthread_create(&others[i], NULL, compute, NULL);
  for (int i = 0; i < 30; ++i) {
    const struct timespec wait = {0, 1000L * (i * 331 % 3000)};
    nanosleep(&wait, NULL);
    const int status = forked(computes);
    if (status != 0) return printf("child %d: status %#x\n", i, status), 1;
  }
  stop = 1;
  for (int i = 0; i < 3; ++i) pthread_join(others[i], NULL);
  puts("60 children compute");
  return 0;
}
