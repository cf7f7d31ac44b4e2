// SPDX-License-Identifier: Apache-2.0
// The CUDA driver functions that profiles call, with the driver's soname and no device. Two events are 2.5
// milliseconds apart, from the second query on. With FAKE_GPU_US there is a GPU with a clock: between every
// two events that are recorded it works for so long, after what it has to do already; nothing is captured.
// At exit, reports events that were not destroyed, and events recorded during a stream capture.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Atomic int events, capturing, mode_of_thread, calls;
struct event {
  int queries;
  double time;
};
static double works = -1, works_until;  // seconds
static int recorded;

__attribute__((constructor)) static void at_begin(void) {
  if (getenv("FAKE_GPU_US") != NULL) works = 1e-6 * atof(getenv("FAKE_GPU_US"));
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int cuCtxGetDevice(int* number) {
  *number = 1;
  return 0;
}
int cuStreamIsCapturing(void* stream, int* status) {
  (void)stream;
  *status = capturing = works < 0 && ++calls % 3 == 0;
  return 0;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  const int before = mode_of_thread;
  mode_of_thread = *mode;
  *mode = before;
  return 0;
}
int cuEventCreate(void** event, unsigned flags) {
  *event = calloc(1, sizeof(struct event));
  ++events;
  return flags != 0;
}
int cuEventDestroy_v2(void* event) {
  free(event);
  --events;
  return 0;
}
int cuEventRecord(void* event, void* stream) {
  (void)stream;
  if (capturing) puts("an event is recorded while the stream is captured");
  if (works_until < now()) works_until = now();
  if (recorded++ % 2 == 1) works_until += works;
  ((struct event*)event)->time = works_until;
  return 0;
}
int cuEventQuery(void* event) {
  if (mode_of_thread != 2) puts("a query disturbs another thread's capture");
  if (works >= 0) return ((struct event*)event)->time <= now() ? 0 : 600;
  return ++((struct event*)event)->queries >= 2 ? 0 : 600;
}
int cuStreamQuery(void* stream) {
  (void)stream;
  if (mode_of_thread != 2) puts("a query disturbs another thread's capture");
  return works >= 0 && works_until <= now() ? 0 : 600;
}
int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  const double apart = ((struct event*)to)->time - ((struct event*)from)->time;
  *milliseconds = works >= 0 ? (float)(1e3 * apart) : 2.5f;
  return 0;
}
// Out of memory.
int cuMemAlloc_v2(void) { return 2; }
int cuMemFree_v2(void) { return 1; }
int cuMemcpyDtoDAsync_v2(void) { return 1; }
int cuMemcpyDtoHAsync_v2(void) { return 1; }
int cuStreamSynchronize(void) { return 1; }

__attribute__((destructor)) static void at_end(void) {
  // one may remain: the last product's, which was not queried twice
  if (events > 1) printf("%d events are left\n", events);
}
