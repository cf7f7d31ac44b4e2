// SPDX-License-Identifier: Apache-2.0
// Small libraries around the interposer: two chained by RTLD_NEXT, one that counts the interposer's
// decision, or makes them those of a GPU that was not measured, one that stands in for a GPU on which all is
// twice as fast, and one that defines a function with a cuBLAS name.
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
#elif defined(COUNTING) || defined(UNMEASURED)
static int judgements;
int antiphase_sgemm_judge(const void* args, double* seconds, double* cublas_seconds, double* times,
                          size_t* borrowed) {
  int (*next)(const void*, double*, double*, double*, size_t*);
  *(void**)&next = dlsym(RTLD_NEXT, "antiphase_sgemm_judge");
  ++judgements;
  const int status = next(args, seconds, cublas_seconds, times, borrowed);
#ifdef UNMEASURED
  *times = 0;
#endif
  return status;
}
#ifdef COUNTING
__attribute__((destructor)) static void tell(void) { fprintf(stderr, "%d judgements\n", judgements); }
#endif
#elif defined(GAINS)
int antiphase_is_measured(int device) { return device == -2 && GAINS; }
int antiphase_sgemm(const void* args, void* stream) { return args == NULL || stream != NULL; }
int antiphase_sgemm_judge(const void* args, double* seconds, double* cublas_seconds, double* times,
                          size_t* borrowed) {
  *seconds = 1, *cublas_seconds = *times = 2, *borrowed = 0;
  return args == NULL;
}
#else
int cublasSgemm_v2(void);
int cublasSgemm_v2(void) { return 4711; }
int calls_its_own(void);
int calls_its_own(void) { return cublasSgemm_v2(); }
#endif
