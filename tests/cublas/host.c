// SPDX-License-Identifier: Apache-2.0
// Runs clients of cuBLAS: those it is linked with, or those it loads with RTLD_LOCAL, as Python does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LINKED
int client_main(int taken);
int main(int count, char** words) { return count == 2 ? client_main(atoi(words[1])) : 2; }
#elif defined APART
// apart TAKEN deepbind|namespace CLIENT
int main(int count, char** words) {
  if (count != 4) return 2;
  void* const client = strcmp(words[2], "deepbind") == 0
                           ? dlopen(words[3], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
                           : dlmopen(LM_ID_NEWLM, words[3], RTLD_NOW);
  if (client == NULL) return puts(dlerror()), 1;
  int (*run)(int);
  *(void**)&run = dlsym(client, "client_main");
  return run(atoi(words[1]));
}
#else
// host TAKEN CLIENT...: all clients in one process
int main(int count, char** words) {
  enum { MOST = 8 };
  if (count < 3 || count > MOST + 2) return 2;
  int (*run[MOST])(int);
  for (int i = 2; i < count; ++i) {
    void* const client = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
    if (client == NULL) return puts(dlerror()), 1;
    *(void**)&run[i - 2] = dlsym(client, "client_main");
  }
  for (int i = 2; i < count; ++i)
    if (run[i - 2](atoi(words[1])) != 0) return 1;
  // dlsym() of other names is unaffected.
  if (dlsym(RTLD_DEFAULT, "printf") != (void*)printf) return puts("printf is another one"), 1;
  if (dlsym(RTLD_DEFAULT, "no_such_function") != NULL || dlerror() == NULL)
    return puts("a function that is none"), 1;
  int (*who)(void);
  *(void**)&who = dlsym(RTLD_DEFAULT, "who");
  if (who == NULL || who() != 12) return puts("RTLD_NEXT leads elsewhere"), 1;
  void* const other = dlopen("libother.so", RTLD_NOW | RTLD_LOCAL);
  int (*product)(void);
  if (other == NULL) return puts(dlerror()), 1;
  *(void**)&product = dlsym(other, "cublasSgemm_v2");
  if (product == NULL || product() != 4711)
    return puts("a function of another library with a name of cuBLAS"), 1;
  return 0;
}
#endif
