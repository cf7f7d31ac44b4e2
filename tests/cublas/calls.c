// SPDX-License-Identifier: Apache-2.0
// Calls cublasSgemm according to its arguments KIND:M:N:K:TIMES:MATH, where KIND is
//
//   real     operands are real memory; the fake computes too, off by 7e-6, which tells who wrote C
//   adds     the same, with beta 1 and C of zeros
//   fork     as real, in a child that returns normally
//   leave    the same, and the child ends by _exit(); drop: also, its status is not collected
//   stay     as fork, but the child ends after the program
//   exec     no call: runs `true` in a child
//   pid      no call: prints the process number and continues; wait: prints it and waits
//   quit     no call: _exit() with M; signal: ends by the signal M
//   threads  as real, in eight threads with their own handles, every other one with a fourth of the rows;
//            prints nothing
//   storm    the same, while antiphase_cublas_enable() and _disable() of the library that INTERPOSER names
//            redirect calls
//   children the same, in forked children too
//   nowhere  for profiles: addresses are invalid and never dereferenced
//   sweep    as nowhere; N grows by one per call, and every other call has a single row
//   paced    as nowhere, with a pause of MATH microseconds after each call; rest: no call, sleeps for M
//            milliseconds
//   queue    as nowhere, a hundred at once and then one in MATH microseconds, as if there were no more room
//   other    calls of begin and end, for attention of 1 ms that would take 0.25 ms, with pauses as paced
//   bench    as nowhere; prints the nanoseconds per call
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_cublas.h"

static const float one = 1, zero = 0;
static _Atomic int faults, running;

static void product(float beta, int m, int n, int k, int times, int math, int talks) {
  float *const a = malloc(sizeof(float) * m * k), *const b = malloc(sizeof(float) * k * n),
               *const c = malloc(sizeof(float) * m * n);
  for (int i = 0; i < m * k; ++i) a[i] = (float)((i * 7919) % 101 - 50) / 16;
  for (int i = 0; i < k * n; ++i) b[i] = (float)((i * 104729) % 103 - 51) / 16;
  fake_handle on = {0};
  on.computes = 7, on.math_mode = math;
  for (int t = 0; t < times; ++t) {
    on.calls = 0;
    memset(c, beta == 0 ? 255 : 0, sizeof(float) * m * n);
    if (cublasSgemm_v2(&on, 0, 0, m, n, k, &one, a, m, b, k, &beta, c, m) != 0) ++faults;
    double off = 0, all = 0;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int p = 0; p < k; ++p) sum += (double)a[i + p * m] * b[p + j * k];
        off += (c[i + j * m] - sum) * (c[i + j * m] - sum), all += sum * sum;
      }
    // The error tells whether the interposer or the fake has written C.
    const double norm = sqrt(off / all);
    if (!(norm < 1e-6) && !(fabs(norm - 7e-6) < 1e-6)) {
      ++faults;
      printf("off by %g\n", norm);
    }
    if (talks)
      printf("%s%s ", norm < 1e-6 ? "taken" : "passed", on.calls == 1 && norm < 1e-6 ? " twice" : "");
  }
  free(a), free(b), free(c);
}
static void real(int m, int n, int k, int times, int math, int talks) {
  product(0, m, n, k, times, math, talks);
}
static double nowhere(int m, int n, int k, int times, int math) {
  fake_handle on = {0};
  on.quiet = 1, on.math_mode = math;
  float *const a = (float*)(1ll << 40), *const b = (float*)(2ll << 40), *const c = (float*)(3ll << 40);
  struct timespec from, to;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  for (int t = 0; t < times; ++t) faults += cublasSgemm_v2(&on, 1, 0, m, n, k, &one, a, k, b, k, &zero, c, m);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
  return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / times;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void queue(int m, int n, int k, int times, int pace) {
  const double begin = seconds();
  for (int t = 0; t < times; ++t) {
    while (seconds() < begin + 1e-6 * pace * (t - 100)) usleep(50);
    nowhere(m, n, k, 1, 0);
  }
}
static void other(int times, int pause) {
  void* (*begin)(void*);
  int (*end)(void*, const char*, double, double);
  *(void**)&begin = dlsym(RTLD_DEFAULT, "antiphase_cublas_begin");
  *(void**)&end = dlsym(RTLD_DEFAULT, "antiphase_cublas_end");
  for (int t = 0; t < times; ++t) {
    faults += end(begin(NULL), "attention", 1e-3, 2.5e-4) != 0;
    if (pause > 0) usleep(pause);
  }
  faults += end(begin(NULL), "products", 1e-3, 1e-3) != -1;
}

static struct { int m, n, k, times; } of_threads;
enum { LEAST_CHANGES = 5 };  // in a storm: fast products go on until there have been as many
static _Atomic int changes = LEAST_CHANGES;
static void* thread(void* number) {
  do
    real((long)number % 2 == 0 ? of_threads.m : of_threads.m / 4, of_threads.n, of_threads.k,
         of_threads.times, 0, 0);
  while (changes < LEAST_CHANGES);
  --running;
  return NULL;
}
static int (*enable)(void), (*disable)(void);
static void* parent(void* none) {
  while (running > 0) {
    int status;
    const pid_t child = fork();
    if (child == 0) {
      alarm(20), faults = 0;
      enable();
      real(of_threads.m, of_threads.n, of_threads.k, 1, 0, 0);
      _exit(disable() != 1 || faults != 0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
      printf("a child ended with %#x\n", (unsigned)status), faults++;
  }
  return none;
}
static void threads(int m, int n, int k, int times, int storm) {
  enum { THREADS = 8 };
  pthread_t all[THREADS];
  of_threads.m = m, of_threads.n = n, of_threads.k = k, of_threads.times = times;
  running = THREADS;
  changes = storm ? 0 : LEAST_CHANGES;
  for (long i = 0; i < THREADS; ++i) pthread_create(&all[i], NULL, thread, (void*)i);
  if (storm) {
    void* const library = dlopen(getenv("INTERPOSER"), RTLD_NOW | RTLD_LOCAL);
    *(void**)&enable = dlsym(library, "antiphase_cublas_enable"),
    *(void**)&disable = dlsym(library, "antiphase_cublas_disable");
    pthread_t forking;
    pthread_create(&forking, NULL, parent, NULL);
    for (; running > 0; ++changes) {
      faults += enable() != 1;
      usleep(200);
      faults += disable() != 1;
      usleep(100);
    }
    pthread_join(forking, NULL);
    enable();
    real(m, n, k, 1, 0, 1);
    if (changes < LEAST_CHANGES) {
      ++faults;
      printf("only %d changes\n", changes);
    }
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(all[i], NULL);
}

// Waits until the parent has ended and its end has been collected.
static void outlive(pid_t parent) {
  alarm(20);
  while (getppid() == parent) usleep(1000);
  usleep(300000);
}

int main(int count, char** words) {
  const pid_t program = getpid();
  for (int i = 1; i < count; ++i) {
    char kind[16];
    int m = 0, n = 0, k = 0, times = 0, math = 0;
    if (sscanf(words[i], "%15[a-z]:%d:%d:%d:%d:%d", kind, &m, &n, &k, &times, &math) < 1) return 2;
    fflush(stdout);
    const int stays = strcmp(kind, "stay") == 0, drops = strcmp(kind, "drop") == 0;
    const int quits = drops || strcmp(kind, "leave") == 0;
    const int leaves = stays || quits || strcmp(kind, "fork") == 0 || strcmp(kind, "exec") == 0;
    const pid_t child = leaves ? fork() : 0;
    if (leaves && child != 0) {
      int status;
      siginfo_t ended;
      if (stays || (drops && waitid(P_PID, child, &ended, WEXITED | WNOWAIT) == 0)) continue;
      if (waitpid(child, &status, 0) != child || status != 0) return puts("the child failed"), 1;
      continue;
    }
    if (strcmp(kind, "exec") == 0) return execlp("true", "true", (char*)NULL), 1;
    if (strcmp(kind, "real") == 0 || leaves) real(m, n, k, times, math, 1);
    if (strcmp(kind, "adds") == 0) product(1, m, n, k, times, math, 1);
    if (strcmp(kind, "threads") == 0 || strcmp(kind, "storm") == 0) threads(m, n, k, times, kind[0] == 's');
    if (strcmp(kind, "nowhere") == 0) nowhere(m, n, k, times, math);
    for (int t = 0; strcmp(kind, "paced") == 0 && t < times; ++t) nowhere(m, n, k, 1, 0), usleep(math);
    if (strcmp(kind, "queue") == 0) queue(m, n, k, times, math);
    if (strcmp(kind, "other") == 0) other(times, math);
    if (strcmp(kind, "rest") == 0) usleep(1000 * m);
    for (int t = 0; strcmp(kind, "sweep") == 0 && t < times; ++t)
      nowhere(t % 2 == 0 ? m : 1, n + t, k, 1, math);
    if (strcmp(kind, "bench") == 0)
      nowhere(m, n, k, 1000, math), printf("%.0f ns\n", nowhere(m, n, k, times, math));
    if (stays) outlive(program), real(m, n, k, times, math, 1);
    if (strcmp(kind, "pid") == 0 || strcmp(kind, "wait") == 0) printf("%d\n", getpid());
    if (strcmp(kind, "wait") == 0) fflush(stdout), alarm(20), pause();
    if (strcmp(kind, "signal") == 0) m == SIGABRT ? abort() : (void)raise(m);
    if (strcmp(kind, "quit") == 0) _exit(m);
    if (quits) fflush(stdout), _exit(faults);
    if (leaves) return faults;
  }
  return faults;
}
