// SPDX-License-Identifier: Apache-2.0
// Switches to the interposer at runtime, and back: host_enabled INTERPOSER EARLY... -- LATE. Its clients are
// loaded with RTLD_LOCAL, as Python does; with LINKED it is a client itself.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/cublas/interpose/entry_points.h"

#define ONE_MORE(...) +1
#define NONE(...)
enum {
  MOST = 8,
  FUNCTIONS = 0 AP_CUBLAS_ENTRIES(ONE_MORE, NONE, NONE)
};  // each has its own address of these
static int (*clients[MOST])(int);
static int count, faults;

static void* load(const char* file, int flags) {
  void* const library = dlopen(file, RTLD_LAZY | RTLD_LOCAL | flags);
  if (library == NULL) puts(dlerror()), exit(1);
  return library;
}
static void* function(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == NULL) puts(dlerror()), exit(1);
  return found;
}
static void add_client(const char* file, int flags) {
  *(void**)&clients[count++] = function(load(file, flags), "client_main");
}
static void all_expect(const char* when, int taken) {
  for (int i = 0; i < count; ++i)
    if (clients[i](taken) != 0) ++faults, printf("%s, client %d\n", when, i);
}
static void expect(const char* what, int is) {
  if (!is) ++faults, puts(what);
}

#ifdef LINKED
int client_main(int taken);
#endif

int main(int words, char** word) {
  int at = 2;
#ifdef LINKED
  clients[count++] = client_main;
#endif
  for (; at < words && strcmp(word[at], "--") != 0; ++at) add_client(word[at], 0);
  if (at + 2 != words) return 2;
#ifndef LINKED
  int (*other_calls)(void);
  *(void**)&other_calls = function(load("libother.so", 0), "calls_its_own");
#endif

  void* const ours = load(word[1], 0);
  int (*enable)(void), (*disable)(void);
  *(void**)&enable = function(ours, "antiphase_cublas_enable");
  *(void**)&disable = function(ours, "antiphase_cublas_disable");
  size_t (*report)(char*, size_t);
  *(void**)&report = function(ours, "antiphase_cublas_report");
  expect("nothing to take back", disable() == 0);
  // Half of the clients have called already, so their slots hold cuBLAS's addresses; the others' still hold
  // the linker's resolver.
  const int all = count;
  count = (all + 1) / 2;
  all_expect("before", 0);
  count = all;
  const int first = enable();
  expect("no slots", first == FUNCTIONS * count);
  all_expect("enabled", 1);
  expect("slots that lead here already", enable() == 0);
#ifndef LINKED  // there cuBLAS's come first in the lookup order
  expect("a function of another library with a name of cuBLAS", other_calls() == 4711);
#endif

  add_client(word[at + 1], RTLD_DEEPBIND);
  const int late = enable();
  expect("no slots of the late one", late == FUNCTIONS);
  all_expect("enabled again", 1);
  void* const gone = load("libclient_gone.so", 0);
  expect("no slots of the one that goes", enable() == FUNCTIONS);
  dlclose(gone);
  expect("it has not gone", dlopen("libclient_gone.so", RTLD_LAZY | RTLD_NOLOAD) == NULL);

  char text[200];
  expect("the whole report", report(text, sizeof text) == strlen(text) &&
                                 strstr(text, "antiphase: ") == text &&
                                 strstr(text, " saved as predicted; ") != NULL);
  expect("a short report", report(text, 10) > 10 && strcmp(text, "antiphase") == 0 && report(NULL, 0) > 10);
  expect("slots that pointed here", disable() == first + late);
  all_expect("disabled", 0);
  expect("slots that lead back already", disable() == 0);
  expect("slots as before", enable() == first + late);
  all_expect("enabled once more", 1);
  expect("slots as before", disable() == first + late);
  all_expect("disabled once more", 0);
  printf("%d slots, %d faults\n", first + late, faults);
  return faults != 0;
}
