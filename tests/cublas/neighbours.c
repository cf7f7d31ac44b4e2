// SPDX-License-Identifier: Apache-2.0
// Small libraries around the interposer: two chained by RTLD_NEXT; one that counts the interposer's
// decisions, or makes them those of a GPU that was not measured, or of one where only the host gains; one
// that stands in for a GPU on which all is twice as fast; and one that defines a function with a cuBLAS name.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#if defined(FIRST)
int who(void) {
  int (*next)(void);
  *(void**)&next = dlsym(RTLD_NEXT, "who");
  return next == NULL ? -1 : 10 + next();
}
#elif defined(SECOND)
int who(void) { return 2; }
#elif defined(COUNTING) || defined(UNMEASURED) || defined(EAGER)
static int judgements;
int antiphase_sgemm_compare(const void* args, double* seconds, double* cublas_seconds, double* times,
                            double* eager_times, double* host_saved, size_t* borrowed) {
  ++judgements;
#ifdef EAGER  // a GPU that there is not
  (void)args;
  *seconds = 1e-4, *cublas_seconds = 4e-4, *times = 1, *eager_times = 2, *host_saved = 4e-6, *borrowed = 0;
  return 0;
#else
  int (*next)(const void*, double*, double*, double*, double*, double*, size_t*);
  *(void**)&next = dlsym(RTLD_NEXT, "antiphase_sgemm_compare");
  const int status = next(args, seconds, cublas_seconds, times, eager_times, host_saved, borrowed);
#ifdef UNMEASURED
  *times = *eager_times = 0;
#endif
  return status;
#endif
}
#ifdef COUNTING
__attribute__((destructor)) static void tell(void) { fprintf(stderr, "%d judgements\n", judgements); }
#endif
#elif defined(GAINS)
int antiphase_is_measured(int device) { return device == -2 && GAINS; }
int antiphase_sgemm(const void* args, void* stream) { return args == NULL || stream != NULL; }
int antiphase_sgemm_compare(const void* args, double* seconds, double* cublas_seconds, double* times,
                            double* eager_times, double* host_saved, size_t* borrowed) {
  *seconds = 1, *cublas_seconds = *times = *eager_times = 2, *host_saved = 0, *borrowed = 0;
  return args == NULL;
}
#else
int cublasSgemm_v2(void);
int cublasSgemm_v2(void) { return 4711; }
int calls_its_own(void);
int calls_its_own(void) { return cublasSgemm_v2(); }
#endif
