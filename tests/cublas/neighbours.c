// SPDX-License-Identifier: Apache-2.0
// Small libraries around the interposer: two that follow each other by RTLD_NEXT, and one that has a function with a name of cuBLAS.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#if defined(FIRST)
int who(void) {
  int (*next)(void);
  *(void**)&next = dlsym(RTLD_NEXT, "who");
  return next == NULL ? -1 : 10 + next();
}
#elif defined(SECOND)
int who(void) { return 2; }
#else
int cublasSgemm_v2(void);
int cublasSgemm_v2(void) { return 4711; }
int calls_its_own(void);
int calls_its_own(void) { return cublasSgemm_v2(); }
#endif
